#!/bin/sh
# The gradient check covers whatever is added: a further norm, kind of positions
# and activation, each with a wrong gradient, is planted in a copy of the program,
# and must fail the check. QUICK is run.sh's list of flags.
#
# shellcheck disable=SC2086

. tests/lib/checks.sh
here=build/planted
rm -rf $here
mkdir -p $here
cp -R tests $here

# planted NAME LIST SED: the new value is put into the enum before its count, is
# used, and the check fails
planted()
{
    sed -e "s/^enum { \(.*\), $2 }/enum { \1, $1, $2 }/" -e "$3" transformer.c \
        > $here/transformer.c
    [ "$(grep -c "\<$1\>" $here/transformer.c)" -ge 2 ] || return
    ${CC:-cc} -std=c11 -O0 ${QUICK-} -DTRANSFORMER_DOUBLE "$here/$(source_of gradcheck)" \
        -o $here/gradcheck -lm || return
    ! $here/gradcheck > $here/said && grep '^FAIL' $here/said
}
check "a third norm, whose entry has no backward pass, fails the gradient check" \
    planted TWICE NORMS '/^void residual_enter_backward/,/^}/ {
        s/norm == POST_NORM)/norm == POST_NORM || pass->config->norm == TWICE)/
    }'
check "so do further positions, which count twice" \
    planted DOUBLED POSITIONS \
    's/c->positions == LEARNED/c->positions % 2/
     s/to\[j\] += row(positions/to[j] += (1 + (pass->config->positions == DOUBLED)) * row(positions/'
check "so does a third activation, whose slope is that of another" \
    planted CUBE ACTIVATIONS \
    's/y\[j\] = from\[j\] \* normal/y[j] = activation == CUBE ? from[j] * from[j] * from[j] : from[j] * normal/'
totals
