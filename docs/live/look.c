// What the page shows of a model: attention, the decoding step by step, and one
// head in numbers. Included by live.c.
