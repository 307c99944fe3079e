// nouns.h, used by lab 21: what the sentences of its text look like.
//
// The nouns are made up, so that nobody can know what a "bako" is, except from
// the words around it. There are thirty of each kind. A sentence either tells
// the kind of its noun, or says nothing about it and has a second noun.

enum { GROUPS = 4, NOUNS_EACH = 30, NOUNS = GROUPS * NOUNS_EACH,
       LABELLED = 20, // of each kind; the other ten have no label anywhere
       TELLING = 5, NEUTRAL = 4 };

const char *const group_name[GROUPS] = {"animal", "food", "vehicle", "tool"};

// %1 is the noun, %2 the second one.
const char *const telling[GROUPS][TELLING] = {
    {"the %1 sleeps", "a child feeds the %1", "the %1 runs away",
     "we heard the %1 bark", "that %1 was hungry"},
    {"we eat the %1", "she cooks the %1", "the %1 tastes good",
     "a slice of %1", "that %1 was sweet"},
    {"he drives the %1", "they park the %1", "the %1 stops",
     "the driver of the %1", "that %1 was fast"},
    {"she sharpens the %1", "he mends it with the %1", "the %1 cuts",
     "the handle of the %1", "that %1 was blunt"}};
const char *const neutral[NEUTRAL] = {
    "the %1 is behind the %2", "look at the %1 near the %2",
    "i found the %1 but not the %2", "this is the %1 and that is the %2"};
