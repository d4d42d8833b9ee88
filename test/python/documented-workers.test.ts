// The examples of docs/write-a-worker.md run as they stand, with stand-ins for the models.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WHEEL_NAME } from "../../contract/words/wheel.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { lacks } from "../support/python.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

const lacksPython = lacks(["--version"], "python3");

const STAND_INS: Readonly<Record<string, string>> = {
  "whisper.py": `
class Model:
    def transcribe(self, audio): return {"text": f"heard {audio}", "language": "en"}
def load_model(name): return Model()
def load_audio(source):
    if source == "broken": raise RuntimeError("no audio")
    return source
`,
  "torch.py": "float16 = 'float16'\n",
  "diffusers.py": `
class Image:
    def save(self, name): open(name, "w").write("png")
class Painted: images = [Image()]
class Pipe:
    def to(self, place): return self
    def __call__(self, **settings): return Painted()
class AutoPipelineForText2Image:
    @staticmethod
    def from_pretrained(name, **settings): return Pipe()
`,
};

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "signalbox-documented-"));
  const page = readFileSync(path.join(ROOT, "docs/write-a-worker.md"), "utf8");
  expect(page).toContain(WHEEL_NAME);
  // An example names its file in its first comment.
  for (const [, text = ""] of page.matchAll(/^```(?:sh|python)\n([\s\S]*?)^```$/gm)) {
    const name = /^(?:#!.*\n)?# ([\w.]+): /.exec(text)?.[1];
    if (name !== undefined) writeFileSync(path.join(folder, name), text);
  }
  mkdirSync(path.join(folder, "stand-ins"));
  for (const [name, text] of Object.entries(STAND_INS)) writeFileSync(path.join(folder, "stand-ins", name), text);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const said = (command: string, args: string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const PYTHONPATH = [path.join(folder, "stand-ins"), path.join(ROOT, "python")].join(path.delimiter);
    const env = { PATH: process.env.PATH, PYTHONPATH, TMPDIR: folder };
    execFile(command, args, { cwd: folder, env, timeout: 20_000 }, (error, out, err) => {
      if (out === "") reject(error ?? new Error(err));
      else resolve(out);
    });
  });

const run = async (command: string, args: string[]): Promise<Record<string, unknown>> =>
  JSON.parse(await said(command, args));

const worker = (...args: string[]) => run(process.execPath, [SIGNALBOX, "worker", ...args]);

it("the shell script counts words", async () => {
  expect(await worker("--exec", "sh count.sh", "--once", '{"prompt": "one two three"}')).toMatchObject({
    status: "completed",
    result: { words: 3 },
    progress: { progress: 0.5, message: "counting" },
  });
});

it.skipIf(lacksPython)("the image model keeps its picture", async () => {
  const args = ["--exec", "python3 paint.py", "--exec-mode", "lines", "--once", '{"prompt": "a signal box"}'];
  expect(await worker(...args)).toMatchObject({
    status: "completed",
    result: { file: "picture.png" },
    files: [{ name: "picture.png" }],
  });
});

it.skipIf(lacksPython)("whisper asked for --help tells how it is run, and ends", async () => {
  expect(await said("python3", ["transcribe.py", "--help"])).toContain("--once <job>");
});

it.skipIf(lacksPython)("whisper transcribes, and fails a job whose audio cannot be read", async () => {
  expect(await run("python3", ["transcribe.py", "--once", '{"prompt": "talk.mp3"}'])).toMatchObject({
    status: "completed",
    result: { text: "heard talk.mp3", language: "en" },
  });
  expect(await run("python3", ["transcribe.py", "--once", '{"prompt": "broken"}'])).toMatchObject({
    status: "failed",
    error: { code: "unreadable_audio" },
  });
});
