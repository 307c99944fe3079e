"""The verdict on an exercise, of each kind."""

import itertools
import math
import os
import re
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import compiling
from comparing import compare
from compiling import (COMPILE_SECONDS, MEMORY, STOP, STRICT, WRITTEN, Wrong, compile_grader,
                       confined_compiler, make_results, program_of, run_folder)
from cutting import (around, in_its_function, load_exercises, plant_bug,
                     reference_regions, source_of, with_preamble)
from files import (REFERENCE, ROOT, Trouble, Unfit, digest, read_text, shown, student_folder,
                   write_file)
from hand_ins import (bug_file, given_answers, given_options, handed_in, region_of,
                      remember_passed, student_file, student_regions)
from refusing import codes, function_inside, refusal, refusal_of_bug, refused_name
from source_file import Broken, Page, code_of, is_stub, regions, replace_region
from wording import (AT_A_PLACE, elsewhere, find_crash, judge, likely_cause,
                     null_pointer, of_own_lines, signal_in_words)
from wrong_bodies import right_results


@dataclass
class Result:
    exercise: Page
    state: str        # right, wrong, todo (not written yet)
    word: str = ""    # in a line
    detail: str = ""

    @property
    def score(self):
        return self.exercise.worth if self.state == "right" else 0


# ---------------------------------------------------------------- functions and bugs

def compiled(text, label, folder, made):
    """The program of a text, its source, and the compiler's warnings about the student's
    lines. Without a text it is the reference."""
    source, program = folder / "source.c", folder / "grade"
    if text is None:
        return made / "grade", None, ""
    source.write_bytes(text.encode("utf-8"))
    status, said = compile_grader(made, source, program)
    if status:
        raise Wrong("does not compile", said)
    return program, source, "\n".join(re.findall(
        rf"^{re.escape(label)}:.*warning:.*|.*\[-Wreturn-type\]", said, re.M))


def grade_source(exercise, text, label, names, made):
    """Compile a text with grade.c and run checks, up to the first that fails."""
    with run_folder() as folder:
        program, source, warned = compiled(text, label, folder, made)
        for name in names:
            ended, written, token = compiling.run_check(made, program, name, folder)
            compared, said = compare(written, right_results(made, name), token)
            state, word = judge(ended, compared, said)
            if state == "right":
                continue
            if exercise.kind == "write" and state == "wrong":
                word, said = likely_cause(made, exercise, word, written, said)
                if "[-Wreturn-type]" in warned and not re.search(
                        r"^crashes: |^transformer: |\(chapter ", word):
                    word = "wrong: not every way through the function ends with a return"
            told = {word, word.replace("wrong: ", "looks like: ", 1)}
            detail = "".join(f"{line}\n" for line in f"{ended.output}\n{said}".split("\n")
                             if line and line not in told)
            if -ended.status in AT_A_PLACE and not ended.stopped and source:
                detail += find_crash(made, source, label, name, folder)
                null = null_pointer(detail, label)
                if null:
                    word = "; ".join([f"crashes: {null}"] + word.split("; ")[1:])
            if warned:
                detail += f"the compiler says:\n{warned}\n"
            return Result(exercise, state, word, detail)
        return Result(exercise, "right", "", word)


def grade_write(exercise, student, path, made):
    label = shown(path).replace("\\", "\\\\").replace('"', '\\"')
    region = region_of(exercise, path, student)
    if isinstance(region, str):
        raise Wrong(region)
    if is_stub(exercise.name, region):
        return Result(exercise, "todo", f"not written yet: replace the line "
                      f'exercise_todo("{exercise.name}");')
    code = code_of("\n".join(region.body))
    why_not = refusal(region, label) or function_inside(code) or refused_name(exercise, code)
    if why_not:
        raise Wrong(why_not)
    try:
        result = grade_body(exercise, region, label, made)
    except Wrong as wrong:  # does not compile
        others = replace_region(handed_in(path), region, [])
        raise Wrong(wrong.word + elsewhere(wrong.detail, others), wrong.detail)
    if result.state == "right":
        remember_passed(exercise, region.code())
    elif result.word.startswith("wrong: ") and " int" not in result.word:
        lines, ours = read_text(REFERENCE).split("\n"), reference_regions()[exercise.name]
        first, _ = around(lines, ours)
        better = of_own_lines(code, "\n".join(lines[first:ours.start]) + code, result)
        if better:
            result.detail = f"{result.word}\n{result.detail}"
            result.word = f"wrong: {better}"
    return result


def grade_body(exercise, region, label, made):
    """The verdict on a body that is not refused."""
    text = read_text(made / "transformer.c")
    ours = regions(text, "transformer.c")[exercise.name]
    if region.body == ours.body:
        text = None
    else:
        text = in_its_function(text, exercise.name, region, label)
        text = with_preamble(text, ['#line NEXT "transformer.c"'])
    return grade_source(exercise, text, label, [exercise.name], made)


SMALL = ["-O1", "-w", "-DWIDTH=16", "-DHEADS=2", "-DLAYERS=2"]  # of a bug's `source:`
PAIRS, STEPS = 200, "60" # this many, because a mistake can begin small


def outputs_of_program(exercise, text, made):
    """What a program and its source print for pairs drawn at random, so that nobody knows
    it beforehand."""
    with run_folder() as folder:
        source, program = folder / "source.c", folder / "program"
        pairs = read_text(ROOT / exercise.data).splitlines(keepends=True)
        drawn = "".join(secrets.SystemRandom().sample(pairs, PAIRS)).encode()
        source.write_bytes(text.encode("utf-8"))
        ended = compiling.run([*confined_compiler(made, folder), *STRICT, *SMALL, source,
                               "-o", program, "-lm"], COMPILE_SECONDS, 4 * MEMORY)
        if ended.status or ended.stopped:
            raise Wrong("does not compile", ended.output + ended.stopped)
        right, _ = make_results(made, program_of(made, source_of(exercise), *SMALL),
                                [WRITTEN, STEPS], folder, drawn)
        if right.status or right.stopped or not right.output:
            raise Trouble(f"{exercise.source} does not run: {right.stopped or right.output}")
        ended, _ = make_results(made, program, [WRITTEN, STEPS], folder, drawn)
    return ended, right.output


def grade_program(exercise, text, made):
    """Whether a program prints what its source prints."""
    ended, right = outputs_of_program(exercise, text, made)
    ours, given = next(filter(lambda lines: lines[0] != lines[1], itertools.zip_longest(
        right.splitlines(), ended.output.splitlines(), fillvalue="")), ("", ""))
    if ours == given:
        return Result(exercise, "right", "", f"right: after {STEPS} steps the same bits")
    if ended.status < 0 or ended.stopped:
        raise Wrong(ended.stopped or "crashes: " + signal_in_words(-ended.status))
    losses = [re.findall(r"^step .* (\d+\.\d+)$", said, re.M) for said in (right, ended.output)]
    if given[:4] == ours[:4] in ("step", "chec") and all(
            abs(float(a) - float(b)) < 1.5e-4 for a, b in zip(*losses)):
        return Result(exercise, "wrong", "wrong: the losses are right, but not every bit of "
                      "the parameters: another order of a sum?")
    return Result(exercise, "wrong",
                  f'wrong: it prints "{given}" where {exercise.source} prints "{ours}"')


def check_bug(exercise, text, made):
    """The verdict on a bug's file, with all checks."""
    if exercise.source:
        return grade_program(exercise, text, made)
    names = exercise.checks.replace(",", " ").split()
    every = list(reference_regions())
    if not set(names) <= set(every):
        raise Trouble(f"exercise {exercise.number}: grade.c has no check {names[0]}")
    names += [name for name in every if name not in names]
    result = grade_source(exercise, text, shown(bug_file(exercise)), names, made)
    if result.state == "right":
        result.detail = f"right: {len(names)} checks"
    return result


def grade_bug(exercise, student, path, made):
    path = bug_file(exercise)
    if not path.exists():
        return Result(exercise, "todo",
                      f"not begun: make exercise N={exercise.number}")
    label, text, source = shown(path), handed_in(path), source_of(exercise)
    why_not, is_reference = refusal_of_bug(text, label, read_text(source))
    if why_not:
        raise Wrong(why_not)
    result = Result(exercise, "right", "", f"right: the code of {shown(source)}") \
        if is_reference else check_bug(exercise, f'#line 1 "{label}"\n{text}', made)
    if codes(text) == codes(plant_bug(exercise)):
        return Result(exercise, "todo", "nothing changed yet",
                      f"{result.word}\n{result.detail}")
    if result.state == "right":
        remember_passed(exercise, digest(text))
    return result


# ---------------------------------------------------------------- numbers

def wanted_answers(exercise):
    """{name: (value, tolerance)} of a page with numbers."""
    answers = {}
    for part in filter(None, exercise.answers.split(";")):
        name, _, value = part.partition("=")
        value, _, tolerance = value.partition("±")
        try:
            answers[name.strip()] = float(value), float(tolerance or 0)
        except ValueError:
            raise Trouble(f"exercise {exercise.number}: a wrong answer: {part}")
    return answers


def wrong_number(exercise, name, number):
    """What to say of a wrong answer. Not how far off it is: with that, bisection would lead
    to the right one."""
    for part in filter(None, exercise.mistakes.split("\n")):
        answer, _, say = part.partition(" -> ")
        its_name, relation, value = answer.split(" ")
        if name == its_name and (value == "*" or (
                abs(number) < float(value) if relation == "<"
                else math.isclose(number, float(value), rel_tol=1e-4))):
            return say
    return "wrong"


def grade_number(exercise, student, path, made):
    wanted, (given, broken) = wanted_answers(exercise), given_answers()
    missing = [name for name in wanted if name not in given]
    every = {name for e in load_exercises() for name in wanted_answers(e)} if broken else ()
    said = [what for name, what in broken  # of this page, or of none
            if name in wanted or (missing and name not in every)]
    if len(missing) == len(wanted) and not said:
        return Result(exercise, "todo", "no answer yet")
    said += [f"{name}: {wrong_number(exercise, name, given[name])}"
             for name, (value, tolerance) in wanted.items() if name in given
             and not math.isclose(given[name], value, rel_tol=1e-12,
                                  abs_tol=tolerance)]
    said += [f"{name}: no answer yet" for name in missing]
    if said:
        raise Wrong(said[0], "\n".join(said[1:]))
    remember_passed(exercise, "")
    return Result(exercise, "right", "", ", ".join(wanted) + ": right")


# ---------------------------------------------------------------- trainings

def trainings_of(exercise, options, training, folder, seed):
    """The commands that train, without the program's name; the last one makes the model that
    is evaluated. If there is no seed here, the student's options may have one."""
    model = folder / "model.safetensors"
    on_data = ["train", training, "--model", model] + exercise.fixed.split()
    on_data += ["--seed", seed] if seed else []
    if "--from" not in options:
        return [on_data + options]
    place, text = options.index("--from"), exercise.before.split()
    before = folder / "text.safetensors"
    return [["train", ROOT / text[0], "--model", before] + text[1:] + options[:place],
            on_data + options[place:place + 1] + [before] + options[place + 1:]]


def known_options(exercise, options):
    """What is wrong with options that do not reach the goal, if the page knows."""
    for part in filter(None, exercise.mistakes.split("\n")):
        pattern, _, say = part.partition(" -> ")
        if re.search(pattern, " ".join(options)):
            return f": {say}"
    return ""


def trained(exercise, options, program, folder):
    """What `transformer evaluate` says of the goal's key with each seed, and how many
    parameters the model has."""
    data, _, count = exercise.data.partition(" ")
    lines = read_text(ROOT / data).splitlines(keepends=True)
    training, model = folder / "train.tsv", folder / "model.safetensors"
    write_file(training, "".join(lines[:int(count or len(lines))]))
    test = ROOT / exercise.test if exercise.test else training
    seconds, reached = int(exercise.seconds), []
    for seed in exercise.seeds.split() or [None]:
        for command in trainings_of(exercise, options, training, folder, seed):
            ended = compiling.run([program] + command, seconds, 4 * MEMORY, folder)
            if ended.stopped.startswith("stopped after"):
                raise Wrong(f"the training takes longer than {seconds} seconds", ended.output)
            if ended.status:
                raise Wrong("the training fails", ended.output)
        size, ended = (compiling.run([program, *command], seconds, 4 * MEMORY, folder)
                       for command in (["info", model],
                                       ["evaluate", model, test, "--threads", "1"]))
        value = re.search(rf"^{exercise.goal.split()[0]} (\S+)$", ended.output, re.M)
        has = re.search(r"^parameters +([\d,]+)$", size.output, re.M)
        if ended.status or not value or size.status or not has:
            raise Wrong("the model cannot be evaluated", size.output + ended.output)
        reached.append(value[1])
    return reached, has[1], ended.output


def grade_train(exercise, student, path, made):
    path = student_folder() / exercise.file
    options = given_options(exercise, path) if path.exists() else []
    if not options:
        return Result(exercise, "todo", f"no options in {shown(path)} yet")
    key, relation, goal = exercise.goal.split()
    program, begun = program_of(made, made / "transformer.c"), time.monotonic()
    with run_folder() as folder:
        reached, size, said = trained(exercise, options, program, folder)
    right = all(float(value) < float(goal) if relation == "<"
                else float(value) >= float(goal) for value in reached)
    word = f"{key} {' and '.join(reached)} (goal: {relation} {goal}), trained in " \
           f"{time.monotonic() - begun:.0f} s"
    if exercise.most:
        right = right and int(size.replace(",", "")) <= int(exercise.most)
        word += f", {size} parameters (at most {int(exercise.most):,})"
    if not right:
        raise Wrong(word + known_options(exercise, options), said)
    remember_passed(exercise, " ".join(options))
    return Result(exercise, "right", "", word)


# ---------------------------------------------------------------- all of them

GRADE = {"write": grade_write, "bug": grade_bug, "number": grade_number,
         "train": grade_train}


def grade_one(exercise, student, path, made):
    """The verdict on an exercise. An error of the grader itself is not a verdict."""
    try:
        return GRADE[exercise.kind](exercise, student, path, made)
    except Wrong as wrong:
        return Result(exercise, "wrong", wrong.word, wrong.detail)
    except Unfit as unfit:
        return Result(exercise, "wrong", str(unfit))
    except Exception as fault:
        raise Trouble(f"exercise {exercise.number}, {exercise.name}: the grader fails: "
                      f"{fault if isinstance(fault, Broken) else repr(fault)}")


def grade_all(chosen):
    """Grade exercises, several at a time; yields the results in order."""
    path, student = student_file(), {}
    if any(exercise.kind == "write" for exercise in chosen):
        try:
            student = student_regions(path)
        except Unfit as unfit:  # what is in other files counts all the same
            student = {exercise.name: str(unfit) for exercise in chosen}
            if all(exercise.kind == "write" for exercise in chosen):
                raise
    made = compiling.reference()
    STOP.clear()
    jobs = ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1)))
    results = [jobs.submit(grade_one, e, student, path, made) for e in chosen]
    try:
        for result in results:
            yield result.result()
    except BaseException:
        STOP.set()  # running programs are stopped
        for result in results:
            result.cancel()
        raise
    finally:
        jobs.shutdown()
