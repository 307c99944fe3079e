// settings.h, used by labs 16, 17 and 18: for programs that put numbers into the
// settings of a checkpoint themselves. A file keeps texts (chapter 15), and this
// makes them.

#ifndef SETTINGS_H
#define SETTINGS_H

// The value of an option as text, as it would be given; `to` needs 32 bytes.
static void value_text(char to[32], const Settings *s, const Option *o) {
    const void *place = (const char *)s + o->offset;
    const char *choice = o->choices;
    if (o->type == INTEGER)
        snprintf(to, 32, "%d", *(const int *)place);
    else if (o->type == NUMBER) {
        double value = *(const double *)place;
        snprintf(to, 32, "%.15g", value);
        if (strtod(to, NULL) != value) // 0.1 stays 0.1
            snprintf(to, 32, "%.17g", value);
    } else {
        for (int n = *(const int *)place; n > 0; n--)
            choice += strcspn(choice, "|") + 1;
        snprintf(to, 32, "%.*s", (int)strcspn(choice, "|"), choice);
    }
}

// Makes texts of all the numbers that a model keeps. The checkpoint owns them.
static void keep_values(Checkpoint *c) {
    char (*text)[32] = allocate(OPTIONS, sizeof *text);
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].in_model) {
            value_text(text[i], &c->settings, &options[i]);
            bool unset = !strcmp(options[i].name, "steps")
                      && !strcmp(text[i], "0");
            c->settings.text[i] = unset ? NULL : text[i];
        }
    free(c->header);
    c->header = text[0];
}

#endif
