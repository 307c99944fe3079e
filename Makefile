# transformer.c. Plain `make` needs only a C compiler.
#
#   make              build ./transformer for this processor
#   make PORTABLE=1   build one to hand on: no processor-specific instructions
#   make FAST=1       contract multiply-adds: faster, with last bits of its own
#   make run          train the model of the book and use it (about a minute)
#   make test         the tests; need only a C compiler
#   make doctor       what works on this machine, and what to install
#   make clean        remove what was built; your models in out/ stay
#
#   make docs         weave the walkthrough: docs/*.html
#   make site         what belongs on the web: build/site
#   make live         the page that trains in a browser: docs/live.html
#   make write        the page that grades in a browser: build/site/write.html
#   make release      what is published of a version: build/release; TAG=v4.0
#
#   make exercises    write exercises/transformer.c, with holes to fill
#   make exercise     what to do; N=5 chooses one, N=1-5,8 several
#   make grade        is it right? SRC=mine.c JSON=results.json; STATUS=1 fails
#   make hint         one more hint each time
#   make solution     the answer, once the exercise has passed; SHOW=1 before
#   make reset        the exercise as it was in the beginning
#   make break        a copy of transformer.c to break: exercises/broken.c
#   make class        grade what a class has handed in: DIR=submissions CSV=marks.csv
#
#   make notebooks    run and plot the labs of notebook/; N=3 for one
#   make notebooks-check   do they give their numbers again? SHORT=1 in short
#   make mpi          train on several machines: build/notebook/mpi
#   make bench        speed; FAST=1 NAMES="tiny class" THREADS=1 choose
#   make gradcheck    the largest gradient error of every tensor, as a table

# To another make this is an error; to GNU make, some targets without a rule.
.DEFAULT_GOAL := all
.error GNU make is needed, often called gmake:

# The variables that may be set: make N=5 ..., and CC, CFLAGS.
VARIABLES = PORTABLE FAST N SRC JSON CSV FORCE SHOW STATUS SHORT NAMES THREADS DIR \
    JOBS TAG NOTEBOOK_PYTHON MPICC

# Any other variable would be silently ignored.
UNKNOWN := $(strip $(foreach v,$(filter-out $(VARIABLES) CC CFLAGS SHELL \
    MAKE%,$(.VARIABLES)),$(if $(findstring command line,$(origin $v)),$v)))
ifdef UNKNOWN
$(error there is no variable $(UNKNOWN): known are $(VARIABLES) CC CFLAGS)
endif

WARNINGS = -std=c11 -Wall -Wextra -Wpedantic -Wshadow

# Those of these flags with which the compiler makes a program without a complaint.
known = $(shell mkdir -p build/known && cd build/known && \
    echo 'int main(void) { return 0; }' > try.c && \
    for flag in $(1); do \
        $(CC) -Werror $$flag try.c -o try 2> /dev/null && echo $$flag; \
    done)

$(foreach v,PORTABLE FAST,$(if $(findstring |$($v)|,|| |0| |1|),,\
    $(error $v=$($v): it is 0 or 1)))

ifeq ($(PORTABLE),1)
FLAGS = -O2 $(CONTRACTION) $(call known,-fopenmp)
else
# Each program is one file: with -fwhole-program the compiler knows all calls.
FLAGS = -O3 $(CONTRACTION) $(call known,-march=native -fno-math-errno \
    -mprefer-vector-width=256 -fwhole-program -fopenmp)
endif

# Without contraction x·y + z is rounded twice, as in C: the same bits everywhere.
CONTRACTION = -ffp-contract=$(if $(filter 1,$(FAST)),fast,off)

# The compiler is asked once, when the flags are first needed.
CFLAGS ?= $(eval CFLAGS := $$(strip $$(FLAGS)))$(CFLAGS)
COMPILE = $(CC) $(WARNINGS) $(CFLAGS)

# $(call need,PROGRAM,WHAT TO INSTALL): one line, if it is not there.
need = @command -v $(firstword $(1)) > /dev/null || { \
    echo "$(firstword $(1)) not found: install $(2) (make doctor says more)" >&2; \
    exit 1; }

all: transformer

.PHONY: all help run test doctor clean docs site live write release \
    break class notebooks notebooks-check mpi bench gradcheck FORCE
FORCE:

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

# The last choice is remembered, so that another one builds anew.
build/flags: CHOSEN = $(COMPILE)
build/mpicc: CHOSEN = $(MPICC)
build/flags build/mpicc: FORCE
	@mkdir -p build/notebook
	@echo '$(CHOSEN)' | cmp -s - $@ || echo '$(CHOSEN)' > $@

transformer: transformer.c build/flags
	$(call need,$(CC),gcc)
	@echo "building with: $(CC) $(CFLAGS)$(if $(findstring openmp,$(CFLAGS)),,\
	    (without OpenMP, on one core: $(if $(filter file,$(origin \
	    CFLAGS)),$(CC) takes no -fopenmp,CFLAGS comes from the $(origin CFLAGS))))"
	$(COMPILE) transformer.c -o $@ -lm

run: transformer
	@mkdir -p out
	./transformer train data/eng-fra.train.tsv --valid data/eng-fra.valid.tsv \
	    --model out/model.safetensors --log out/log.csv
	./transformer evaluate out/model.safetensors data/eng-fra.test.tsv
	head -n 5 data/eng-fra.test.tsv | cut -f 1 | \
	    ./transformer translate out/model.safetensors
	./transformer attention out/model.safetensors "the red car is fast" \
	    --csv out/attention.csv
	@set -- $$(for model in data/models/eng-fra out/model; do \
	    ./transformer info $$model.safetensors | sed -n 's/^checksum //p'; done); \
	    if [ "$$1" = "$$2" ]; then echo "checksum $$2: the model of the book"; \
	    else echo "checksum $$2: not the model of the book, $$1"; fi

test: transformer
	@CC='$(CC)' CFLAGS='$(CFLAGS)' sh tests/run.sh

doctor:
	@CC='$(CC)' sh docs/exercises/grader/doctor.sh

build/gradcheck: tests/chapters/gradcheck.c tests/lib/test.h transformer.c build/flags
	$(COMPILE) -DTRANSFORMER_COMPLEX $< -o $@ -lm

build/bench: tests/bench/bench.c transformer.c build/flags
	$(COMPILE) $< -o $@ -lm

EXAMPLES = docs/book/examples.c tests/lib/test.h tests/lib/model.h transformer.c
build/examples: $(EXAMPLES) build/flags
	$(COMPILE) -DTRANSFORMER_DOUBLE $< -o $@ -lm

build/generate: data/generate.c build/flags
	$(CC) $(WARNINGS) -O2 $< -o $@

gradcheck: build/gradcheck
	build/gradcheck

bench: build/bench
	build/bench $(if $(THREADS),--threads $(THREADS)) $(NAMES)

# ---------------------------------------------------------------- docs

# What the walkthrough shows is run by builds that give the same digits on every
# processor, in a folder of its own.
PLAIN = $(CC) $(WARNINGS) -O2 -ffp-contract=off

docs: build/docs/transformer build/docs/build/examples
	$(call need,python3,python3)
	ln -sfn ../../data build/docs/data
	python3 docs/book/weave/weave.py

site: docs
	python3 docs/book/weave/website.py
	python3 docs/write/site_pages.py

live:
	$(call need,clang,clang lld wasi-libc libclang-rt-dev-wasm32)
	$(call need,node,nodejs)
	python3 docs/live/build.py

# The compiler in this page comes from npm.
write:
	$(call need,npm,npm)
	$(call need,node,nodejs)
	$(call need,pandoc,pandoc)
	python3 docs/write/build_write.py

# This takes some minutes, and begins only if the version may be published.
release: docs
	$(call need,git,git)
	$(call need,chromium,chromium)
	python3 docs/release/build.py --check $(TAG)
	$(MAKE) site
	$(MAKE) write
	python3 docs/release/build.py $(TAG)

build/docs/transformer: transformer.c
	$(call need,$(CC),gcc)
	@mkdir -p build/docs
	$(PLAIN) transformer.c -o $@ -lm

build/docs/build/examples: $(EXAMPLES)
	@mkdir -p build/docs/build
	$(PLAIN) -DTRANSFORMER_DOUBLE $< -o $@ -lm

# ---------------------------------------------------------------- exercises

# make grade N=5 SRC=mine.c JSON=results.json; what each takes is in tool.py. A name may
# have any character in it: it is one word of the shell, as it was given to make.
quoted = '$(subst ','\'',$(value $(1)))'
EXERCISES = exercises exercise grade hint solution reset

.PHONY: $(EXERCISES)
$(EXERCISES):
	$(call need,python3,python3)
	@python3 docs/exercises/tool.py $@ $(foreach v,N SRC JSON FORCE SHOW,\
	    $(if $($v),$v=$(call quoted,$v))) $(if $(STATUS),,|| [ $$? = 1 ])

break:
	@mkdir -p exercises && cp -n transformer.c exercises/broken.c
	@echo "cc -O2 exercises/broken.c -lm -o broken"

class:
	$(call need,python3,python3)
	@python3 docs/exercises/class.py $(foreach v,DIR CSV N,$(call quoted,$v))

# ---------------------------------------------------------------- notebooks

# Debian's python3-nbclient and python3-matplotlib belong to Debian's python3.
NOTEBOOK_PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

notebooks notebooks-check:
	$(call need,$(NOTEBOOK_PYTHON),python3)
	@CFLAGS='$(CFLAGS)' $(NOTEBOOK_PYTHON) notebook/make.py \
	    $(if $(filter %-check,$@),--check) $(if $(SHORT),--short) $(N)

# MPI's compiler is the compiler, with the library's headers and the library.
MPICC ?= mpicc
LAB = $(COMPILE)
mpi: build/notebook/mpi
build/notebook/mpi build/notebook/19-machines: \
    LAB = OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC) $(WARNINGS) $(CFLAGS)
build/notebook/mpi build/notebook/19-machines: build/mpicc

# The compiler writes down beside a program of notebook/ what it includes. A program's
# name may end in the type of its numbers.
vpath %.c notebook/programs notebook
AS_LAB = -MMD -MP -MF $@.dep -MT $@ $< -o $@ -lm
build/notebook/%-double: %.c build/flags
	$(LAB) -DTRANSFORMER_DOUBLE $(AS_LAB)
build/notebook/%-complex: %.c build/flags
	$(LAB) -DTRANSFORMER_COMPLEX $(AS_LAB)
build/notebook/%: %.c build/flags
	$(LAB) $(AS_LAB)

-include $(wildcard build/notebook/*.dep)

clean:
	rm -rf build transformer
