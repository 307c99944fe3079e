// Look inside: translation as one types, attention, and the decoding, step by
// step.

function beginLook() {
}
