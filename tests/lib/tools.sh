# What is used here beside the shell: whether it is there, and how to get it.
#
# shellcheck shell=sh disable=SC2086

# tool | Debian, Ubuntu and WSL | Fedora | macOS: packages of apt-get, dnf, brew
tools()
{
    cat << 'END'
cc          | gcc libc6-dev                    | gcc              | gcc
gcc         | gcc libc6-dev                    | gcc              | gcc
make        | make                             | make             | make
openmp      | gcc libgomp1                     | gcc libgomp      | libomp
python3     | python3                          | python3          | python
python38    | python3                          | python3          | python
ctags       | universal-ctags                  | ctags            | universal-ctags
git         | git                              | git              | git
ps          | procps                           | procps-ng        |
gcovr       | gcovr                            | gcovr            | gcovr
valgrind    | valgrind libc6-dbg               | valgrind         |
clang       | clang                            | clang            |
sanitizers  | clang libclang-rt-dev            | compiler-rt      |
clang-omp   | clang libomp-dev                 | libomp-devel     |
wasi        | clang lld wasi-libc libclang-rt-dev-wasm32 | wasi-libc-static lld | wasi-libc
tcc         | tcc libc6-dev                    | tcc              |
emulators   | qemu-user-static wine wine64 gcc-mingw-w64-x86-64 gcc-i686-linux-gnu libc6-dev-i386-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross | |
musl-gcc    | musl-tools                       | musl-gcc         |
torch       | python3-torch python3-numpy      | python3-torch    | pytorch
nltk        | python3-nltk                     | python3-nltk     |
openmpi     | openmpi-bin libopenmpi-dev       | openmpi-devel    | open-mpi
mpich       | mpich libmpich-dev               | mpich-devel      | mpich
prlimit     | util-linux                       | util-linux       |
pandoc      | pandoc                           | pandoc           | pandoc
nbclient    | python3-nbclient python3-ipykernel | python3-nbclient |
matplotlib  | python3-matplotlib               | python3-matplotlib | python-matplotlib
java        | default-jre-headless             | java-headless    | openjdk
npm         | npm                              | npm              | node
node        | nodejs                           | nodejs           | node
chromium    | chromium chromium-headless-shell | chromium         | chromium
firefox-esr | firefox-esr                      | firefox          |
pdfinfo     | poppler-utils                    | poppler-utils    | poppler
shellcheck  | shellcheck                       | ShellCheck       | shellcheck
END
}

# makes_program COMPILER flags...
makes_program()
{
    try=$(mktemp -d) || return
    echo 'int main(void) { return 0; }' > "$try/try.c"
    "$@" "$try/try.c" -o "$try/try" > /dev/null 2>&1
    made=$?
    rm -rf "$try"
    return $made
}

# Debian's modules belong to Debian's python3.
python()
{
    if [ -x /usr/bin/python3 ]; then
        /usr/bin/python3 "$@"
    else
        python3 "$@"
    fi
}

has() # TOOL
{
    case $1 in
    cc) makes_program ${CC:-cc} ;;
    openmp) makes_program ${CC:-cc} -fopenmp ;;
    gcc | clang | tcc | musl-gcc) makes_program "$1" ;;
    sanitizers) makes_program clang -fsanitize=address,undefined ;;
    wasi) makes_program clang --target=wasm32-wasi --sysroot=/usr ;;
    emulators)
        for program in qemu-s390x-static wine x86_64-w64-mingw32-gcc \
            i686-linux-gnu-gcc aarch64-linux-gnu-gcc s390x-linux-gnu-gcc; do
            command -v $program > /dev/null || return
        done ;;
    clang-omp) makes_program clang -fopenmp ;;
    openmpi | mpich) command -v "mpicc.$1" "mpirun.$1" > /dev/null ;;
    valgrind) valgrind -q true 2> /dev/null ;;
    python38) python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' \
        2> /dev/null ;;
    torch | nltk | nbclient | matplotlib) python -c "import $1" 2> /dev/null ;;
    *) command -v "$1" > /dev/null ;;
    esac
}

# packages TOOL...: what Debian calls them
packages()
{
    for tool in "$@"; do
        tools | awk -F ' *[|] *' -v tool="$tool" '$1 == tool { print $2 }'
    done
}

# how_to_get TOOL: the command of this system
how_to_get()
{
    if command -v apt-get > /dev/null; then
        column=2 command="sudo apt-get install"
    elif command -v dnf > /dev/null; then
        column=3 command="sudo dnf install"
    else
        column=4 command="brew install"
    fi
    tools | awk -F ' *[|] *' -v tool="$1" -v column=$column \
        -v command="$command" '$1 == tool { print command, $column }'
}
