// One head, in numbers.

function beginHead() {
}
