// `signalbox`: parses the arguments and runs the command. Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 130
// interrupted.

import { addAbortSignal } from "node:stream";
import { text } from "node:stream/consumers";
import { ApiProblem } from "../contract/client/problem.ts";
import { objectOf } from "../contract/text/json-object.ts";
import { printable } from "../contract/text/printable.ts";
import { VERSION } from "../contract/words/version.ts";
import { Signalbox } from "../sdk/signalbox.ts";
import { useProxies } from "../worker/proxies.ts";
import { askOnTerminal, keysOfTerminal } from "./ask.ts";
import { Failure, UsageError } from "./failure.ts";
import { helpAbout } from "./help.ts";
import { failed, readLocal, STANDARD } from "./local-file.ts";
import { loginOf } from "./login.ts";
import { Output, type Sink } from "./output.ts";
import { type Parsed, parse, verbIn } from "./parse.ts";
import type { Context } from "./verb.ts";
import { VERBS } from "./verbs.ts";

const EXIT = { done: 0, failed: 1, misunderstood: 2, interrupted: 130 } as const;

const sinkOver = (stream: NodeJS.WriteStream): Sink => ({
  write: (words) => {
    stream.write(words);
  },
  isTerminal: stream.isTTY === true,
  // Read each time, because a window changes its size. A terminal that does not know its size gives 0.
  get columns() {
    return stream.columns || undefined;
  },
  get rows() {
    return stream.rows || undefined;
  },
});

const readInput = (file: string, signal: AbortSignal): Promise<string> =>
  file === STANDARD ? text(addAbortSignal(signal, process.stdin)) : readLocal(file);

const contextOf = (isJson: boolean, signal: AbortSignal): Context => {
  const { env } = process;
  const out = sinkOver(process.stdout);
  // NO_COLOR counts if it is set and not empty (no-color.org).
  const hasColour = out.isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
  const output = new Output({ out, err: sinkOver(process.stderr), isJson, hasColour });
  // A try that the service refuses may last ten seconds. A try that nothing answers is over at once.
  const onRetry = (problem: ApiProblem) => {
    if (problem.status > 0) output.away(problem);
  };
  return {
    client: () => new Signalbox({ ...loginOf(env), onRetry }),
    output,
    signal,
    env,
    readInput: (file) => readInput(file, signal),
    ask: askOnTerminal(signal),
    keys: keysOfTerminal(),
  };
};

/** What to do, by the problem's code. */
const HINTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["authentication_failed", ["Set SERVICE_API_KEY, or run `signalbox login`."]],
  ["unexpected_answer", ["Another service answers there, or a proxy in front of Signalbox: check SERVICE_API_URL."]],
]);

/** What went wrong, as text; a problem's fields each on a line. */
const wordsOf = (error: ApiProblem | Failure): string => {
  if (!(error instanceof ApiProblem)) return error.message;
  const what = error.message === error.title ? error.title : `${error.title}: ${error.message}`;
  const fields = error.errors.map(({ path, message }) => `  ${path}: ${message}`);
  const hint = HINTS.get(error.code);
  const request = error.requestId === "" ? [] : [`(${error.code}, request ${error.requestId})`];
  return [what, ...(fields.length > 1 ? fields : []), ...(hint ?? []), ...request].map(printable).join("\n");
};

const UNEXPECTED =
  "The server's answer has another form than this command expects: is it Signalbox, of this version? (signalbox doctor)";

/** Whether another service answers there, or another version of this one. */
const isForeign = async ({ client, signal }: Context): Promise<boolean> => {
  try {
    return objectOf(await client().service.health({ signal })).version !== VERSION;
  } catch (error) {
    return error instanceof ApiProblem && error.code !== "unreachable" && error.code !== "timeout";
  }
};

const proxied = async (): Promise<void> => {
  try {
    await useProxies();
  } catch (error) {
    throw new Failure(`${(error as Error).message}.`);
  }
};

let isWorker = false;

const run = async (parsed: Parsed & { kind: "run" }): Promise<number> => {
  isWorker = parsed.verb.passesOn === true;
  const interrupted = new AbortController();
  // A worker handles the same signals itself, to finish its jobs.
  if (!isWorker) process.once("SIGINT", () => interrupted.abort());
  const context = contextOf(parsed.isJson, interrupted.signal);
  try {
    await proxied();
    const code = (await parsed.verb.run(context, parsed.input)) ?? EXIT.done;
    // Sockets of a worker that has ended may stay open; do not wait for them.
    if (isWorker) process.exit(code);
    return code;
  } catch (error) {
    if (interrupted.signal.aborted) return EXIT.interrupted;
    if (error instanceof UsageError) throw error;
    // Reading what is not there of an answer throws this, as a fault of this program does.
    if (error instanceof TypeError && (await isForeign(context))) context.output.say(UNEXPECTED);
    else if (!(error instanceof ApiProblem || error instanceof Failure)) throw error;
    else context.output.say(wordsOf(error));
    return EXIT.failed;
  } finally {
    context.output.endLive();
  }
};

const main = async (argv: readonly string[]): Promise<number> => {
  try {
    const parsed = parse(argv, VERBS);
    if (parsed.kind === "run") return await run(parsed);
    process.stdout.write(`${helpAbout(parsed.about, VERBS)}\n`);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const verb = verbIn(argv, VERBS);
    const help = verb === null ? "--help lists all commands" : `${verb.name} --help shows what it takes`;
    process.stderr.write(`${error.message}\nsignalbox ${help}.\n`);
    return EXIT.misunderstood;
  }
};

// The reader of a pipe may close it early (`| head`); that is not a failure. A worker has jobs, and goes on without a log.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (isWorker) return;
  if (error.code === "EPIPE") process.exit(EXIT.done);
  process.stderr.write(`${failed("stdout", "written", error).message}\n`);
  process.exit(EXIT.failed);
});
// What nobody hears any more of a command's progress does not end it.
process.stderr.on("error", () => {});

process.exitCode = await main(process.argv.slice(2));
