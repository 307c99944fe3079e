// pretrained.h: all that it takes to read and run the models of lab 18, in the
// order in which the files build on one another. Include it after gpt.h.

#include "modern.h"         // the four changes since 2017 (lab 17)
#include "json.h"           // JSON
#include "hub.h"            // config.json, safetensors
#include "unicode.h"        // tables
#include "entries.h"        // tokens and their numbers
#include "bytepairs.h"      // vocab.json, merges.txt
#include "tokenizer_json.h" // tokenizer.json
#include "wordpiece.h"      // vocab.txt
#include "gpt2.h"           // the models
#include "bert.h"
#include "llama.h"
#include "writer.h"         // continuing a text
