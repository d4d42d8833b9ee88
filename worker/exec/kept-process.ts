// Mode `lines`: a process that is kept for many jobs, one after another. A job is a line of JSON on its stdin; its
// answers are lines that name the job, the last with `done`.

import { isObject, parseJson } from "../../contract/text/json-object.ts";
import type { JobFacts } from "../job-facts.ts";
import { type Answer, tooMuch } from "./answer.ts";
import { childEnvironment } from "./child-environment.ts";
import { failureOf, neverStarted } from "./ending.ts";
import { instructionOf } from "./instruction.ts";
import { JobFolder } from "./job-folder.ts";
import type { ExecOptions } from "./options.ts";
import { OutputLines, type Piece, passPieces } from "./output-lines.ts";
import { type Ended, ProcessGroup } from "./process-group.ts";
import { StderrLog } from "./stderr-log.ts";

/** A process that ends sooner cannot work at all, so no job is given to it before. */
const SETTLED_AFTER_MS = 1_000;
/** After its grace, a process that did not stop its job has this long to end. */
const LAST_GRACE_MS = 1_000;

type Current = { id: string; answer: Answer; finish: () => void };

export class KeptProcess {
  /** Resolves once the process and its group are gone; never rejects. */
  readonly gone: Promise<Ended>;
  /** True after a while; false if it ended at once. */
  readonly isSettled: Promise<boolean>;
  readonly folder: JobFolder;
  readonly #group: ProcessGroup;
  readonly #stderr: StderrLog;
  readonly #exec: ExecOptions;
  #current: Current | null = null;
  /** Why it could not be started, if it could not. */
  #whyNot: string | null = null;
  #isReplaced = false;

  private constructor(exec: ExecOptions, folder: JobFolder) {
    this.#exec = exec;
    this.folder = folder;
    const added = { SIGNALBOX_WORK_DIR: folder.work, SIGNALBOX_FILES: folder.files };
    this.#group = new ProcessGroup({
      command: exec.command,
      folder: folder.work,
      env: childEnvironment(exec.env, added),
      graceMs: exec.graceMs,
    });
    this.#stderr = new StderrLog((said) =>
      exec.log(`${this.#current === null ? "" : `job ${this.#current.id}: `}${said}`),
    );
    this.#group.child.stderr?.on("data", (bytes: Buffer) => this.#stderr.take(bytes));
    this.#read();
    this.gone = this.#group.gone
      .catch((error: Error) => {
        this.#whyNot = neverStarted(error);
        return { code: null, signal: null };
      })
      .finally(() => folder.remove().catch(() => {}));
    const settled = new Promise<true>((resolve) => setTimeout(() => resolve(true), SETTLED_AFTER_MS).unref());
    this.isSettled = Promise.race([settled, this.gone.then(() => false)]);
  }

  static async start(exec: ExecOptions): Promise<KeptProcess> {
    return new KeptProcess(exec, await JobFolder.create());
  }

  /** Whether it ended because a job was taken from it, which is no failure of the program. */
  get isReplaced(): boolean {
    return this.#isReplaced;
  }

  /** Why it ended, in words. */
  explain(ended: Ended): string {
    this.#stderr.end();
    if (this.#whyNot !== null) return this.#whyNot;
    if (this.#group.isEnding && ended.code === null)
      return "It was ended, because it did not stop its job or closed its stdout";
    return failureOf(ended, this.#stderr.tail)?.message ?? "The command ended with exit code 0, but it is to go on";
  }

  /** `signal` is not aborted yet. @returns whether the job is done; false if the process ended before. */
  async work(facts: JobFacts & { files: unknown }, answer: Answer, signal: AbortSignal): Promise<boolean> {
    const { id } = facts;
    const { promise: done, resolve: finish } = Promise.withResolvers<void>();
    this.#current = { id, answer, finish };
    let late: NodeJS.Timeout | undefined;
    const cancel = () => {
      this.#isReplaced = true;
      this.#write({ cancel: id });
      late = setTimeout(() => this.end(LAST_GRACE_MS), this.#exec.graceMs);
    };
    signal.addEventListener("abort", cancel, { once: true });
    this.#write(facts);
    try {
      const isDone = await Promise.race([done.then(() => true), this.gone.then(() => false)]);
      if (isDone) this.#isReplaced = false;
      return isDone;
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", cancel);
      this.#current = null;
    }
  }

  end(graceMs?: number): void {
    this.#group.end(graceMs);
  }

  #write(message: object): void {
    this.#group.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  #read(): void {
    const { stdout } = this.#group.child;
    passPieces(stdout, new OutputLines({ holdsAll: true }), (pieces) => this.#passOn(pieces));
    // Without it no job could ever be answered. The end of the program closes it, too.
    stdout?.on("end", () => setTimeout(() => this.end(), LAST_GRACE_MS).unref());
  }

  async #passOn(pieces: readonly Piece[]): Promise<void> {
    for (const piece of pieces) {
      if (piece.kind === "too_long") {
        this.#current?.answer.fail(tooMuch());
        this.end(LAST_GRACE_MS);
      } else if (piece.kind === "line") await this.#takeLine(piece.line);
    }
  }

  async #takeLine(line: string): Promise<void> {
    const current = this.#current;
    const given = parseJson(line);
    if (current === null || !isObject(given) || given.id !== current.id) {
      // Not of this job: a print of a library, or an answer that came too late.
      this.#stderr.take(Buffer.from(`${line}\n`));
      return;
    }
    const instruction = instructionOf(given);
    if (instruction !== null) await current.answer.take(instruction);
    if (given.done === true) current.finish();
  }
}
