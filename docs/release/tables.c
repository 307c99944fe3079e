// The tables of commands and options (chapters 14 and 15), for manual.py: one row
// a line, its fields separated by tabs.

#define TRANSFORMER_NO_MAIN
#include "../../transformer.c"

static void print_option(const Option *o) {
    printf("option\t%s\t%s\t%s\t%s\t", o->name,
           o->type == FLAG ? "" : o->choices, o->initial ? o->initial : "",
           o->help);
    for (const Command *c = commands; c < commands + COMMANDS; c++)
        if (o->commands & c->bit)
            printf("%s ", c->name);
    puts("");
}

int main(void) {
    for (const Command *c = commands; c < commands + COMMANDS; c++)
        printf("command\t%s\t%s\t%s\n", c->name, c->operands, c->help);
    for (const Option *o = options; o < options + OPTIONS; o++)
        print_option(o);
    finish_output();
    return 0;
}
