// The command line's arguments, and the message for each mistake.

import { describe, expect, it } from "vitest";
import { UsageError } from "../../cli/failure.ts";
import { helpAbout } from "../../cli/help.ts";
import { Output } from "../../cli/output.ts";
import { parse } from "../../cli/parse.ts";
import { when } from "../../cli/terminal/when.ts";
import { VERBS } from "../../cli/verbs.ts";

const parsed = (...argv: string[]) => parse(argv, VERBS);

const refusal = (...argv: string[]): string => {
  try {
    parsed(...argv);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
  }
  return "";
};

describe("the command line", () => {
  it("takes the longest name, arguments in order, flags anywhere", () => {
    const found = parsed("jobs", "list", "--status", "failed", "--json", "--limit=5");
    expect(found).toMatchObject({ kind: "run", verb: { name: "jobs list" }, isJson: true });
    if (found.kind !== "run") throw new Error("not run");
    expect([found.input.text("status"), found.input.number("limit")]).toEqual(["failed", 5]);
    const run = parsed("run", "--tag", "a", "--tag", "b", "--", "--help me");
    if (run.kind !== "run") throw new Error("not run");
    expect([run.input.arg("prompt"), run.input.texts("tag")]).toEqual(["--help me", ["a", "b"]]);
  });

  it("takes a word with one hyphen as an argument, and whatever follows a flag as its value", () => {
    const run = parsed("run", "-5 degrees", "--tag", "-x", "--tag", "--wait", "--tag=a=b");
    if (run.kind !== "run") throw new Error("not run");
    expect([run.input.arg("prompt"), run.input.texts("tag")]).toEqual(["-5 degrees", ["-x", "--wait", "a=b"]]);
    expect(parsed("run", "-h").kind).toBe("help");
  });

  it("takes -o for --output, where there is one", () => {
    const get = parsed("files", "get", "file-1", "-o", "out.txt");
    if (get.kind !== "run") throw new Error("not run");
    expect(get.input.text("output")).toBe("out.txt");
  });

  it("passes a worker's flags on unread", () => {
    const found = parsed("worker", "--runtime", "ollama", "--help");
    if (found.kind !== "run") throw new Error("not run");
    expect(found.input.rest).toEqual(["--runtime", "ollama", "--help"]);
  });

  it.each([
    [["jbs"], 'there is no command "jbs"; did you mean "jobs"?'],
    [["overview"], 'there is no command "overview"'],
    [["jobs", "lits"], 'there is no command "jobs lits"; did you mean "jobs list"?'],
    [["killswitch", "of"], 'there is no command "killswitch of"; did you mean "killswitch off"?'],
    [["killswitch", "--json"], 'a word is missing after "killswitch": on, off, status'],
    [["run"], "<prompt> is missing"],
    [["run", "a", "b"], 'unexpected argument "b": put quotes around words that belong together'],
    [["login", "http://x", "sbx_not_a_key"], "keys are never arguments: a command that needs one reads it from stdin"],
    [["run", "a", "--modle", "x"], "there is no flag --modle; did you mean --model?"],
    [["run", "a", "--model"], "--model needs a value: --model <name>"],
    [["run", "a", "--wait=yes"], "--wait takes no value"],
    [["run", "a", "--model", "x", "--model", "y"], "--model is given twice"],
    [["run", "a", "-o", "out.txt"], "there is no flag -o"],
    [["jobs", "list", "-n", "5"], "there is no flag -n"],
    [["run", "a", "--key", "secret"], "keys are never arguments: set SERVICE_API_KEY, or use `signalbox login`"],
  ])("%j is refused", (argv, says) => expect(refusal(...argv)).toBe(says));

  it("helps with everything, with a group, and with each command, from the table that it parses by", () => {
    const all = helpAbout(null, VERBS);
    for (const { name, flags = {}, passesOn } of VERBS) {
      expect(all).toContain(`  ${name}`);
      if (passesOn === true) continue;
      const about = parsed(...name.split(" "), "--help");
      if (about.kind !== "help") throw new Error(`${name} --help is not help`);
      const text = helpAbout(about.about, VERBS);
      for (const flag of [...Object.keys(flags), "json", "help"]) expect(text).toContain(`--${flag}`);
    }
    expect(parsed("jobs")).toEqual({ kind: "help", about: "jobs" });
    expect(parsed()).toEqual({ kind: "help", about: null });
    expect(helpAbout("jobs", VERBS)).toMatch(/\nExamples:\n {2}signalbox jobs list .*\n {2}signalbox jobs get/);
    expect(all).toMatch(/\nExamples:\n {2}signalbox status\n/);
  });

  /** As a shell splits it, up to where it goes to a file or another program. */
  const typed = (line: string): string[] =>
    [...(line.split(/ (?:[<>]|\|+) /)[0] ?? "").matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, plain]) => quoted ?? plain ?? "",
    );

  it.each(VERBS.map(({ name, examples }) => [name, examples] as const))(
    "%s has examples, which its help shows and which are no wrong usage",
    (name, examples) => {
      const verb = VERBS.find((one) => one.name === name);
      const help = helpAbout(verb ?? null, VERBS);
      for (const example of examples) {
        expect(help).toContain(`  signalbox ${example}`);
        expect(parsed(...typed(example))).toMatchObject({ kind: "run", verb: { name } });
      }
    },
  );

  it("takes a time as the API does, as a date, and as a span from now", () => {
    const since = (text: string): string | undefined => {
      const found = parsed("jobs", "list", "--since", text);
      if (found.kind !== "run") throw new Error("not run");
      return found.input.time("since");
    };
    expect(since("2026-01-31T09:00:00+01:00")).toBe("2026-01-31T09:00:00+01:00");
    expect(since("2026-01-31")).toBe("2026-01-31T00:00:00Z");
    const away = Date.now() - Date.parse(since("2h") ?? "");
    expect(Math.abs(away - 7_200_000)).toBeLessThan(60_000);
    expect(() => since("yesterday")).toThrow('such as 2h or 7d, not "yesterday"');
  });

  it("has no two commands of one name", () => {
    expect(new Set(VERBS.map(({ name }) => name)).size).toBe(VERBS.length);
  });
});

describe("output", () => {
  const shown = (isTerminal: boolean, isJson = false) => {
    const out: string[] = [];
    const sink = { write: (text: string) => void out.push(text), isTerminal, columns: 40 };
    const output = new Output({ out: sink, err: { write: () => undefined, isTerminal }, isJson, hasColour: false });
    const rows = [
      { name: "one", text: "a long text that does not fit into the terminal" },
      { name: "tw\u001b[31mo", text: "b" },
    ];
    output.table({ rows }, rows, [
      { title: "name", of: ({ name }) => name },
      { title: "text", of: ({ text }) => text },
    ]);
    return out.join("");
  };

  it("is a table on a terminal, cut to its width, without control sequences of others", () => {
    const lines = shown(true).split("\n");
    expect(lines[0]).toBe("NAME      TEXT");
    expect(lines[1]).toMatch(/^one {7}a long .*…$/);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(40);
    expect(shown(true)).not.toContain("\u001b");
  });

  it("has a last column that goes on below, where it is all that matters", () => {
    const out: string[] = [];
    const sink = { write: (text: string) => void out.push(text), isTerminal: true, columns: 30 };
    const output = new Output({ out: sink, err: sink, isJson: false, hasColour: false });
    output.table(
      {},
      ["none of 3 workers is online: start one"],
      [
        { title: "what", of: () => "workers" },
        { title: "found", of: (says) => says, wraps: true },
      ],
    );
    expect(out.join("")).toBe("WHAT     FOUND\nworkers  none of 3 workers is\n         online: start one\n");
  });

  it("has relative times on a terminal, and the instants themselves elsewhere", () => {
    const at = new Date(Date.now() - 7_200_000).toISOString();
    const written = (isTerminal: boolean, isJson: boolean): string => {
      const out: string[] = [];
      const sink = { write: (text: string) => void out.push(text), isTerminal };
      const output = new Output({ out: sink, err: sink, isJson, hasColour: false });
      output.table({ at }, [at], [{ title: "at", of: when }]);
      output.record({ at }, [["at", when(at)]]);
      return out.join("");
    };
    expect(written(true, false)).toBe("AT\n2 h ago\nat  2 h ago\n");
    expect(written(false, false)).toBe(`${at}\nat\t${at}\n`);
    expect(written(true, true).match(/"at": "(.*)"/g)).toEqual([`"at": "${at}"`, `"at": "${at}"`]);
  });

  it("has tabs in a pipe, whole texts and no head", () => {
    expect(shown(false).split("\n")[0]).toBe("one\ta long text that does not fit into the terminal");
  });

  it("is the answer itself with --json", () => {
    expect(JSON.parse(shown(true, true))).toMatchObject({ rows: [{ name: "one" }, {}] });
  });

  describe("with control sequences of others", () => {
    const HOSTILE = "a\tb\u001b[31mc\u009b2Jd\r\ne";
    /** Shows what follows from right to left. */
    const OVERRIDE = "\u202e";
    const CONTROLS = /[^\P{Cc}\n\t]/u;
    const written = (isTerminal: boolean, isJson: boolean, write: (output: Output) => void): string => {
      const texts: string[] = [];
      const sink = { write: (text: string) => void texts.push(text), isTerminal };
      write(new Output({ out: sink, err: sink, isJson, hasColour: false }));
      return texts.join("");
    };

    it.each<[string, (output: Output) => void]>([
      ["a value", (output) => output.value({}, HOSTILE)],
      ["a line", (output) => output.line({}, HOSTILE)],
      ["a part of a stream", (output) => output.raw(HOSTILE)],
      ["a message", (output) => output.say(HOSTILE)],
    ])("%s keeps its lines and tabs on a terminal, and nothing else", (_what, write) => {
      const text = written(true, false, write);
      expect(text).toMatch(/^a\tb \[31mc 2Jd\ne/);
      expect(text).not.toMatch(CONTROLS);
    });

    it("nothing turns the direction in which a line is written", () => {
      const tables = written(true, false, (output) => {
        output.table({}, [{ text: OVERRIDE }], [{ title: "prompt", of: ({ text }) => `a${text}b` }]);
        output.raw(`a${OVERRIDE}b`);
      });
      expect(tables).toBe("PROMPT\na b\na b");
    });

    it("a record keeps the lines of a text, below each other", () => {
      const text = written(true, false, (output) => output.record({}, [["result", HOSTILE]]));
      expect(text).toBe("result  a\tb [31mc 2Jd\n        e\n");
    });

    it("a pipe gets the data as it is", () => {
      expect(written(false, false, (output) => output.raw(HOSTILE))).toBe(HOSTILE);
      expect(written(false, false, (output) => output.value({}, HOSTILE))).toBe(`${HOSTILE}\n`);
    });

    it("JSON escapes them and says the same", () => {
      const text = written(true, true, (output) => output.value({ HOSTILE }, ""));
      expect(text).not.toMatch(CONTROLS);
      expect(JSON.parse(text)).toEqual({ HOSTILE });
    });
  });
});
