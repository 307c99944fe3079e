# transformer.c. Plain `make` needs only a C compiler.
#
# Use it
#   make              build ./transformer for this processor
#   make PORTABLE=1   build one to hand on: no processor-specific instructions
#   make run          train an English-French model and use it (about a minute)
#   make doctor       what works on this machine, and what to install
#   make clean        remove what was built; your models in out/ stay
#
# Read it
#   make docs         weave the walkthrough; needs pandoc, python3
#   make examples     the examples of the walkthrough: build/examples
#   make docs-check   weave it, and check its links, lines and names
#   make site         what belongs on the web: build/site
#   make live         the page that trains in a browser: docs/live.html
#   make write        the page that compiles and grades in a browser:
#                     build/site/write.html; needs npm, node, pandoc
#   make release      what is published of a version: build/release; TAG=v2.0
#                     fails unless the version is 2.0; needs chromium, git
#   make docs-runs    train anew for the walkthrough's pictures, and what happens
#                     when a line is broken (minutes)
#
# Do the exercises: N=5 chooses one, N=1-5,8 several
#   make exercises    write exercises/transformer.c, with holes to fill
#   make exercise     what to do; without N a list
#   make grade        is it right? SRC=mine.c JSON=results.json; with STATUS=1
#                     it fails where points are missing
#   make hint         one more hint each time
#   make solution     the answer, once the exercise has passed; SHOW=1 before
#   make reset        the exercise as it was in the beginning
#   make watch        grade again whenever a file changes
#   make gradescope   an autograder for Gradescope
#
# Teach it
#   make exam         an examination with its key: SEED=7; DIR=FOLDER grades what is
#                     in the folder; needs pandoc
#   make slides       a lecture for each chapter, woven from the book: build/slides;
#                     needs pandoc, npm
#
# Experiment
#   make notebooks    run and plot the labs of notebook/; N=3 for one
#   make mpi          train on several machines at once: build/notebook/mpi;
#                     MPICC=mpicc.mpich chooses the library
#   make bench        speed; NAMES="tiny class" THREADS=1 choose
#   make bench-product   how the matrix product became fast, step by step
#   make bench-torch  the same beside PyTorch (python3-torch), in turn
#   make bench-learn  does it learn as well as PyTorch? DATA=pairs.tsv and
#                     TEST=held-out.tsv, or 5 % of DATA (python3-nltk, too)
#   make gradcheck    the largest gradient error of every tensor, as a table
#   make data         make the data sets anew
#
# Check it
#   make test         the tests; need only a C compiler (a few minutes)
#   make test-memory  those of the chapters and all commands, under Valgrind
#   make check        all that can be checked with what is installed
#   make chapters     cut the file at each chapter and compile every beginning
#   make coverage     which lines and branches the tests reach
#   make mutants      does each planted mistake fail a test? SAMPLE=300 of them
#   make platforms    other compilers; ALL=1 other processors, too
#   make test-exercises    the exercises and their grader
#   make notebooks-check   the labs give their numbers again; SHORT=1 in short
#   make test-notebooks    the program that makes the labs
#   make test-pretrained   the program that reads published models
#   make test-vocabulary   its tokens, with GPT-2's own vocabulary; needs npm
#   make pretrained-check  a published model beside PyTorch; DIR=FOLDER
#   make soak         all that takes long (hours; installs packages)

# The variables that may be set: make N=5 ..., and CC, CFLAGS.
VARIABLES = PORTABLE N SRC JSON FORCE SHOW STATUS SHORT NAMES THREADS DATA TEST \
    DIR SAMPLE SEED CSV ALL JOBS TAG TORCH NOTEBOOK_PYTHON MPICC GOMP_SPINCOUNT \
    KMP_BLOCKTIME

# Another one would be ignored in silence.
UNKNOWN := $(strip $(foreach v,$(filter-out $(VARIABLES) CC CFLAGS SHELL \
    MAKE%,$(.VARIABLES)),$(if $(findstring command line,$(origin $v)),$v)))
ifdef UNKNOWN
$(error there is no variable $(UNKNOWN): known are $(VARIABLES) CC CFLAGS)
endif

WARNINGS = -std=c11 -Wall -Wextra -Wpedantic -Wshadow

# Of these flags, those with which the compiler makes a program in silence.
known = $(shell dir=$$(mktemp -d) && cd "$$dir" && \
    echo 'int main(void) { return 0; }' > try.c && \
    for flag in $(1); do \
        $(CC) -Werror $$flag try.c -o try 2> /dev/null && echo $$flag; \
    done; rm -rf "$$dir")

ifeq ($(findstring |$(PORTABLE)|,|| |0| |1|),)
$(error PORTABLE=$(PORTABLE): it is 0 or 1)
endif

ifeq ($(PORTABLE),1)
FLAGS = -O2 -ffp-contract=off $(call known,-fopenmp)
else
# Each program is one file: with -fwhole-program the compiler knows all calls.
FLAGS = -O3 $(call known,-march=native -ffp-contract=fast -fno-math-errno \
    -mprefer-vector-width=256 -fwhole-program -fopenmp)
endif

# The compiler is asked once, when the flags are first needed.
CFLAGS ?= $(eval CFLAGS := $$(strip $$(FLAGS)))$(CFLAGS)
COMPILE = $(CC) $(WARNINGS) $(CFLAGS)

# $(call need,PROGRAM,WHAT TO INSTALL): one line, if it is not there.
need = @command -v $(firstword $(1)) > /dev/null || { \
    echo "$(firstword $(1)) not found: install $(2) (make doctor says more)" >&2; \
    exit 1; }

all: transformer

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

# The flags are remembered, so that changing them builds anew.
build/flags: FORCE
	@mkdir -p build
	@echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' > $@

build/mpicc: FORCE
	@mkdir -p build
	@echo '$(MPICC)' | cmp -s - $@ || echo '$(MPICC)' > $@

transformer: transformer.c build/flags
	$(call need,$(CC),gcc)
	@echo "building with: $(CC) $(CFLAGS)"
	$(COMPILE) transformer.c -o $@ -lm

# A thread that waits looks again and again for a moment, up to about half a
# millisecond, and then sleeps: other programs may need the cores. GCC's library
# counts how often it looks, clang's counts milliseconds.
export GOMP_SPINCOUNT ?= 10000
export KMP_BLOCKTIME ?= 1

# ---------------------------------------------------------------- run

run: transformer
	@mkdir -p out
	./transformer train data/eng-fra.train.tsv \
	    --valid data/eng-fra.valid.tsv --epochs 25 \
	    --model out/model.safetensors --log out/log.csv
	./transformer evaluate out/model.safetensors data/eng-fra.test.tsv
	head -n 5 data/eng-fra.test.tsv | cut -f 1 | \
	    ./transformer translate out/model.safetensors
	./transformer attention out/model.safetensors "the red car is fast" \
	    --csv out/attention.csv

# ---------------------------------------------------------------- tests

test: transformer
	@CC='$(CC)' CFLAGS='$(CFLAGS)' sh tests/run.sh

test-memory:
	@CC='$(CC)' CFLAGS='$(CFLAGS)' sh tests/run.sh memory commands

check:
	@.ci/run --installed

doctor:
	@CC='$(CC)' sh tests/doctor.sh

coverage:
	sh tests/coverage.sh

mutants:
	python3 tests/mutants.py $(if $(SAMPLE),--sample $(SAMPLE)) \
	    $(if $(SEED),--seed $(SEED)) $(if $(CSV),--csv $(CSV)) \
	    $(if $(JOBS),--jobs $(JOBS))

platforms:
	sh tests/platforms.sh $(if $(ALL),all)

soak:
	.ci/soak

gradcheck: build/gradcheck
	build/gradcheck

build/gradcheck: tests/gradcheck.c tests/test.h transformer.c build/flags
	$(COMPILE) -DTRANSFORMER_DOUBLE tests/gradcheck.c \
	    -o $@ -lm

# Every beginning of the file, up to the end of any chapter, must compile.
chapters:
	sh tests/chapters.sh

bench: build/bench
	build/bench $(if $(THREADS),--threads $(THREADS)) $(NAMES)

bench-product: build/product
	build/product

build/product: tests/bench/product.c transformer.c build/flags
	$(COMPILE) tests/bench/product.c -o $@ -lm

bench-torch: build/bench
	@$(TORCH) -c 'import torch' 2> /dev/null || { \
	    echo "PyTorch not found: install python3-torch" >&2; exit 1; }
	$(TORCH) tests/bench/bench_torch.py $(if $(THREADS),--threads $(THREADS)) \
	    $(NAMES)
	$(TORCH) tests/bench/bench_torch.py $(if $(THREADS),--threads $(THREADS)) \
	    --decode

bench-learn: transformer
	@[ '$(DATA)' ] || { \
	    echo "which pairs? make bench-learn DATA=pairs.tsv" >&2; exit 1; }
	$(TORCH) tests/bench/learn.py '$(DATA)' $(if $(TEST),'$(TEST)')

# Debian's python3-torch belongs to Debian's python3.
TORCH ?= $(firstword $(wildcard /usr/bin/python3) python3)

build/bench: tests/bench/bench.c transformer.c build/flags
	$(COMPILE) tests/bench/bench.c -o $@ -lm

# ---------------------------------------------------------------- docs

# What the walkthrough shows is run by builds that give the same digits on every
# processor, in a folder of its own.
PLAIN = $(CC) $(WARNINGS) -O2 -ffp-contract=off

docs: build/docs/transformer build/docs/build/examples
	$(call need,python3,python3)
	ln -sfn ../../data build/docs/data
	python3 docs/weaver

docs-check: docs
	python3 docs/weaver/check.py
	python3 docs/weaver/breaking.py --check

# What belongs on the web, in build/site: README, walkthrough, labs, and the
# book on one page, for printing.
.PHONY: site
site: docs
	python3 docs/weaver/website.py

# The page that trains in a browser.
.PHONY: live
live:
	$(call need,clang,clang lld wasi-libc libclang-rt-dev-wasm32)
	$(call need,node,nodejs)
	python3 docs/live/build.py

# The page in which the exercises are written. The compiler in it comes from npm.
.PHONY: write
write:
	$(call need,npm,npm)
	$(call need,node,nodejs)
	$(call need,pandoc,pandoc)
	python3 docs/write/build.py

# A lecture for each chapter.
.PHONY: slides
slides: build/docs/transformer build/docs/build/examples
	$(call need,npm,npm)
	ln -sfn ../../data build/docs/data
	python3 docs/weaver/slides.py

# What is published. Some minutes, and begun only if it may be published.
.PHONY: release
release: build/docs/transformer
	$(call need,git,git)
	$(call need,chromium,chromium)
	python3 docs/release/build.py --check $(TAG)
	$(MAKE) site
	$(MAKE) write
	python3 docs/release/build.py $(TAG)

build/docs/transformer: transformer.c
	$(call need,$(CC),gcc)
	$(call need,python3,python3)
	@mkdir -p build/docs
	$(PLAIN) transformer.c -o $@ -lm

build/docs/build/examples: docs/source/examples.c tests/test.h \
    tests/model.h transformer.c
	@mkdir -p build/docs/build
	$(PLAIN) -DTRANSFORMER_DOUBLE docs/source/examples.c -o $@ -lm

examples: build/examples

build/examples: docs/source/examples.c tests/test.h tests/model.h \
    transformer.c build/flags
	$(COMPILE) -DTRANSFORMER_DOUBLE docs/source/examples.c -o $@ -lm

docs-runs:
	sh docs/runs/make.sh
	python3 docs/weaver/breaking.py

# ---------------------------------------------------------------- exercises

# make grade N=5 SRC=mine.c JSON=results.json; what each takes is in tool.py.
STUDENT = exercises exercise grade hint solution reset watch gradescope

$(STUDENT):
	$(call need,python3,python3)
	@python3 docs/exercises/tool.py $@ $(foreach v,N SRC JSON FORCE SHOW,\
	    $(if $($v),'$v=$($v)')) $(if $(STATUS),,|| [ $$? = 1 ])

test-exercises:
	python3 docs/exercises/test.py

.PHONY: exam
exam:
	$(call need,pandoc,pandoc)
	@python3 docs/exercises/exam.py $(SEED) $(if $(DIR),'$(DIR)')

# ---------------------------------------------------------------- notebooks

# Debian's python3-nbclient and python3-matplotlib belong to Debian's python3.
NOTEBOOK_PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

notebooks:
	$(call need,$(NOTEBOOK_PYTHON),python3)
	@$(NOTEBOOK_PYTHON) notebook/make.py $(if $(SHORT),--short) $(N)

notebooks-check:
	$(call need,$(NOTEBOOK_PYTHON),python3)
	@$(NOTEBOOK_PYTHON) notebook/make.py --check $(if $(SHORT),--short) $(N)

.PHONY: test-notebooks
test-notebooks:
	$(call need,$(NOTEBOOK_PYTHON),python3)
	@$(NOTEBOOK_PYTHON) notebook/test.py

.PHONY: test-pretrained
test-pretrained:
	$(call need,$(NOTEBOOK_PYTHON),python3)
	@$(NOTEBOOK_PYTHON) notebook/test_pretrained.py

.PHONY: test-vocabulary
test-vocabulary:
	$(call need,npm,npm)
	$(call need,node,nodejs)
	@$(NOTEBOOK_PYTHON) notebook/test_vocabulary.py

.PHONY: pretrained-check
pretrained-check: build/notebook/pretrained build/notebook/18-pretrained
	$(call need,$(NOTEBOOK_PYTHON),python3)
	@$(NOTEBOOK_PYTHON) notebook/pretrained_check.py $(DIR)

build/notebook/08-rnn build/notebook/09-speed \
    build/notebook/20-recurrent: notebook/rnn.c
build/notebook/08-rnn build/notebook/20-recurrent: notebook/learner.h
build/notebook/12-gradient-check-double: notebook/12-gradient-check.c
build/notebook/01-scaling build/notebook/02-heads build/notebook/07-masks \
    build/notebook/12-gradient-check build/notebook/12-gradient-check-double \
    build/notebook/15-classifier-check build/notebook/16-gpt-check \
    build/notebook/17-since-2017-check \
    build/notebook/20-parts-check: notebook/measure.h
build/notebook/15-classifier build/notebook/15-classifier-check: \
    notebook/classifier.c
build/notebook/gpt build/notebook/16-gpt-check \
    build/notebook/17-since-2017-check: notebook/gpt.h
build/notebook/15-classifier-check build/notebook/16-gpt-check \
    build/notebook/17-since-2017-check \
    build/notebook/20-parts-check: notebook/check.h
build/notebook/17-since-2017 build/notebook/17-since-2017-check: \
    notebook/modern.h
build/notebook/16-gpt build/notebook/17-since-2017: notebook/gpt.c notebook/gpt.h
build/notebook/pretrained: notebook/gpt.c
build/notebook/18-pretrained-double: notebook/18-pretrained.c
build/notebook/pretrained build/notebook/18-pretrained \
    build/notebook/18-pretrained-double: $(addprefix notebook/,gpt.h modern.h \
    pretrained.h json.h hub.h unicode.h entries.h bytepairs.h \
    tokenizer_json.h wordpiece.h gpt2.h bert.h llama.h writer.h)
build/notebook/19-machines: notebook/mpi.c
build/notebook/20-parts build/notebook/20-parts-check: notebook/parts.h
build/notebook/21-carried-over: notebook/nouns.h

# MPI's compiler is the compiler, with the library's headers and the library.
MPICC ?= mpicc
COMPILE_MPI = OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC) $(WARNINGS) $(CFLAGS)

mpi: build/notebook/mpi

build/notebook/mpi build/notebook/19-machines: build/notebook/%: notebook/%.c \
    notebook/lab.h transformer.c build/flags build/mpicc
	$(call need,$(MPICC),libopenmpi-dev openmpi-bin)
	@mkdir -p build/notebook
	$(COMPILE_MPI) $< -o $@ -lm

build/notebook/%: notebook/%.c notebook/lab.h transformer.c build/flags
	@mkdir -p build/notebook
	$(COMPILE) $< -o $@ -lm

# ---------------------------------------------------------------- data

data: build/generate
	build/generate data

build/generate: data/generate.c build/flags
	$(CC) $(WARNINGS) -O2 data/generate.c -o $@

clean:
	rm -rf build transformer

FORCE:
.PHONY: all help run test test-memory check doctor coverage mutants platforms soak gradcheck \
    chapters bench bench-product bench-torch bench-learn docs docs-check docs-runs \
    examples $(STUDENT) test-exercises notebooks notebooks-check mpi data clean \
    FORCE
