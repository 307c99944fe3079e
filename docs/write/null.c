
// Appended to grade.c for write.html: what Clang's check of null pointers calls.
// It says what the sanitizer's own library, which WebAssembly lacks, would say.

typedef struct {
    const char *file;
    unsigned line, column;
    const struct {
        unsigned short kind, info;
        char name[];
    } *type;
    unsigned char log_alignment, access;
} NullPointer;

_Noreturn void __ubsan_handle_type_mismatch_v1_abort(const NullPointer *found,
                                                     const void *pointer) {
    const char *access[] = {"load of", "store to", "reference binding to",
                            "member access within", "member call on"};
    (void)pointer;
    printf("%s:%u:%u: runtime error: %s null pointer of type %s\n", found->file,
           found->line, found->column, access[found->access % 5], found->type->name);
    fflush(stdout);
    __builtin_trap();
}
