// Mode `job`: a process for each job, in a folder of its own. The place is free only when the process and all of its
// group are gone.

import { lineOf, startOf } from "../../contract/text/start-of.ts";
import { failed, type JobTask, type Outcome, probedOutcome, type RunOptions, type Runtime } from "../calls/runtime.ts";
import { factsOf, type JobFacts } from "../job-facts.ts";
import { Answer, tooMuch } from "./answer.ts";
import { childEnvironment } from "./child-environment.ts";
import { missing } from "./command.ts";
import { failureOf, neverStarted } from "./ending.ts";
import { inFolder, neverReached } from "./in-folder.ts";
import { MAX_MESSAGE_CHARS, readInstruction } from "./instruction.ts";
import type { JobFolder } from "./job-folder.ts";
import type { ExecOptions } from "./options.ts";
import { OutputLines, type Piece, passPieces } from "./output-lines.ts";
import { type Ended, ProcessGroup } from "./process-group.ts";
import { StderrLog } from "./stderr-log.ts";

const MAX_STRAY_CHARS = 200;

export const createJobCommand = (exec: ExecOptions): Runtime => {
  const running = new Set<ProcessGroup>();
  const probe = async () => ({ unavailable: missing(exec.command, exec.env), apis: exec.apis, models: null });
  return {
    name: "exec",
    address: null,
    probeEveryMs: 0,
    probe,
    run: ({ job, ...task }, options) =>
      job === null ? probedOutcome({ probe }) : runJob({ ...exec, running }, { ...task, job }, options),
    close: async () => {
      for (const group of running) group.end();
      await Promise.allSettled([...running].map(({ gone }) => gone));
    },
  };
};

type Running = ExecOptions & { running: Set<ProcessGroup> };

const runJob = (exec: Running, task: JobTask, options: RunOptions): Promise<Outcome> => {
  const facts = factsOf(task, exec.offeredModels);
  return inFolder(exec, task, options.signal, {
    prepare: (folder, files) => folder.describe({ ...facts, files }),
    run: (folder, line) => runCommand(exec, { task, facts, line }, options, folder),
  });
};

const runCommand = async (
  exec: Running,
  { task, facts, line }: { task: JobTask; facts: JobFacts; line: string },
  options: RunOptions,
  folder: JobFolder,
): Promise<Outcome> => {
  const { command, graceMs, env, log, stdin } = exec;
  const { signal } = options;
  const added = {
    SIGNALBOX_JOB_ID: facts.id,
    SIGNALBOX_JOB: folder.job,
    SIGNALBOX_WORK_DIR: folder.work,
    SIGNALBOX_FILES: folder.files,
  };
  const group = new ProcessGroup({ command, folder: folder.work, env: childEnvironment(env, added), graceMs });
  exec.running.add(group);
  const end = () => group.end();
  signal.addEventListener("abort", end, { once: true });
  const empty = exec.stdout === "text" ? "" : null;
  const open = (name: string) => folder.output(name);
  const answer = new Answer({ task, options, files: exec.files, empty, model: facts.model, open });
  const stderr = new StderrLog((said) => log(`job ${facts.id}: ${said}`));
  group.child.stderr?.on("data", (bytes: Buffer) => stderr.take(bytes));
  const read = readStdout(group, answer, exec.stdout);
  group.child.stdin?.end(stdin === "text" ? facts.prompt : `${line}\n`);
  try {
    const ended = await group.gone;
    await read();
    stderr.end();
    return await outcomeOf(ended, answer, stderr);
  } catch (error) {
    return neverReached("command_unavailable", neverStarted(error as Error));
  } finally {
    exec.running.delete(group);
    signal.removeEventListener("abort", end);
  }
};

const outcomeOf = async (ended: Ended, answer: Answer, stderr: StderrLog): Promise<Outcome> => {
  const failure = answer.failure ?? failureOf(ended, stderr.tail);
  if (failure === null) return answer.outcome();
  return failed({ ...failure, message: startOf(failure.message, MAX_MESSAGE_CHARS) }, answer.spent);
};

/** Passes on what the command writes; ends the command once its job has failed. @returns what reads the rest. */
const readStdout = (group: ProcessGroup, answer: Answer, mode: ExecOptions["stdout"]): (() => Promise<void>) => {
  const lines = new OutputLines({ holdsAll: mode === "json" });
  const pass = async (pieces: readonly Piece[]) => {
    for (const piece of pieces) {
      const isOver = answer.failure !== null;
      await passOn(piece, answer, mode);
      // What the command says of its own failure does not end it; what it does wrong does.
      if (!isOver && answer.failure !== null && !isOwnFailure(piece)) group.end();
    }
  };
  const passed = passPieces(group.child.stdout, lines, pass);
  return async () => {
    await passed();
    await pass(lines.end());
  };
};

const passOn = (piece: Piece, answer: Answer, mode: ExecOptions["stdout"]): Promise<void> | undefined => {
  if (piece.kind === "too_long") return void answer.fail(tooMuch());
  if (piece.kind === "text") return answer.take({ key: "text", text: piece.text });
  const instruction = readInstruction(piece.line);
  if (instruction !== null) return answer.take(instruction);
  if (mode === "text") return answer.take({ key: "text", text: piece.line + piece.end });
  if (piece.line.trim() === "") return undefined;
  const message = `The command wrote a line that is no instruction: ${lineOf(piece.line, MAX_STRAY_CHARS)}`;
  return void answer.fail({ code: "bad_output", message, retryable: false });
};

const isOwnFailure = (piece: Piece): boolean => piece.kind === "line" && readInstruction(piece.line)?.key === "error";
