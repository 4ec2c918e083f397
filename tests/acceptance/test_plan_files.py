"""``nonoka plan``: plan files are checked, drawn and described without a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.program import Project

EXAMPLES = Path(__file__).parents[2] / "examples" / "plans"
AGENTS = {"check_data.yaml": ["--agent", f"{EXAMPLES / 'tools.py'}:checker"]}
PLANS = sorted(path.name for path in EXAMPLES.glob("*.yaml") if not path.name.endswith(".script.yaml"))

SMALL = """\
name: small
inputs: {dir: {type: string, default: .}, spare: any}
steps:
  - {id: list, tool: list_files, args: {path: "${inputs.dir}"}}
  - {id: sum, prompt: "Say \\"<what>\\" of ${list}", when: "${list} != ''"}
  - {id: other, tool: list_files}
  - {id: last, tool: read_file, for_each: [a], args: {path: "${item}"}, depends_on: [sum?, other]}
finally:
  - {id: end, tool: list_files}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    return Project(tmp_path, "[]")


def test_there_are_examples() -> None:
    assert PLANS == ["changelog_digest.yaml", "check_data.yaml", "release_notes.yaml"]


@pytest.mark.parametrize("name", PLANS)
def test_each_example_can_be_run_as_it_is(project: Project, name: str) -> None:
    done = project("plan", "check", str(EXAMPLES / name), *AGENTS.get(name, []))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ok ")


def test_a_sound_plan_is_summed_up_in_a_line_and_nothing_is_stored(project: Project) -> None:
    done = project("plan", "check", "small.yaml")
    assert (done.returncode, done.stdout) == (0, "ok small.yaml: small, 4 steps in 3 layers, 1 step at the end\n")
    assert done.stderr == "small.yaml: note: nothing uses the input 'spare'\n"
    assert not (project.path / ".nonoka").exists()


@pytest.mark.parametrize("command", ["check", "show"])
def test_each_error_is_a_line_with_its_place(project: Project, command: str) -> None:
    text = SMALL.replace("prompt:", "promt:").replace("${inputs.dir}", "${nothing}")
    done = project("plan", command, "-", input=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "stdin:4: step 'list': ${nothing}: there is no step 'nothing'; for a literal ${ write $${",
        "stdin:5: step 'sum': there is no key 'promt' here; did you mean 'prompt'?",
        "nonoka: error: the plan can't be run: 2 errors",
    ]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("none.yaml", "the plan 'none.yaml' can't be read: No such file or directory"),
        (".", "the plan '.' can't be read: Is a directory"),
        ("latin.yaml", "latin.yaml:2: not UTF-8 text"),
    ],
)
def test_a_file_that_can_not_be_read_is_named(project: Project, file: str, said: str) -> None:
    (project.path / "latin.yaml").write_bytes(b"name: x\nsteps: \xe9\n")
    done = project("plan", "check", file)
    assert (done.returncode, done.stderr) == (2, f"nonoka: error: {said}\n")


def test_the_picture_has_a_line_for_each_step_in_its_layer(project: Project) -> None:
    done = project("plan", "show", "small.yaml")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        'small\n  input dir (string, default ".")\n  input spare (any)\n'
        "  1 ┬─ list   list_files\n"
        "    └─ other  list_files\n"
        "  2 ── sum    prompt: Say \"<what>\" of ${list}  after list, when ${list} != ''\n"
        '  3 ── last   read_file                        after other, sum?, for each of ["a"]\n'
        "finally, however the others ended\n"
        "  1 ── end  list_files\n"
    )


def test_the_diagram_names_steps_by_their_place_for_ids_may_be_words_of_mermaid(project: Project) -> None:
    done = project("plan", "show", "--format", "mermaid", "small.yaml")
    assert done.stdout.splitlines() == [
        "flowchart TD",
        '  s0["list<br/>list_files"]',
        '  s1(["sum<br/>prompt: Say &quot;&lt;what&gt;&quot; of ${list}"])',
        '  s2["other<br/>list_files"]',
        '  s3[["last<br/>read_file"]]',
        "  s0 --> s1",
        "  s2 --> s3",
        "  s1 -.-> s3",
        "  subgraph finally",
        '    s4["end<br/>list_files"]',
        "  end",
        "  s3 -.-> finally",
    ]


def test_what_programs_read_holds_the_layers_and_the_plan_itself(project: Project) -> None:
    shown = json.loads(project("plan", "show", "--format", "json", "small.yaml").stdout)
    assert shown["layers"] == [["list", "other"], ["sum"], ["last"]]
    assert shown["finally_layers"] == [["end"]]
    assert shown["waits_for"]["last"] == ["other", "sum"]
    again = project("plan", "check", "-", input=json.dumps(shown["plan"]))
    assert again.returncode == 0, again.stderr


def test_the_schema_is_printed(project: Project) -> None:
    assert "steps" in json.loads(project("plan", "schema").stdout)["properties"]
