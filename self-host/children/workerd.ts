// Starting workerd.

import { createRequire } from "node:module";
import path from "node:path";
import { ExitError } from "../exit-error.ts";
import { runCommand } from "../run-command.ts";
import { type Supervised, supervise } from "./supervised.ts";

const NEEDS = `Signalbox runs tenants in workerd, which needs Linux with glibc (not musl, as Alpine has it), macOS 13.5 or
Windows, on x64 or arm64. On other systems take its container (docs/operate.md).`;

/** How a program ends on Windows whose library is missing, lacks a function, or is too old for it. */
const LIBRARY_FAILURES = [0xc0000135, 0xc0000139, 0xc0000005];
const LIBRARIES = "https://learn.microsoft.com/cpp/windows/latest-supported-vc-redist";

/** A missing program is also what the system says of one whose C library is missing. */
const cannotRun = (why: string): ExitError => new ExitError(`workerd does not run here: ${why}.\n${NEEDS}`);

/** The native binary itself: signals must reach it, not a launcher. */
const workerd = (): string => {
  try {
    return createRequire(import.meta.url)("workerd").default;
  } catch (error) {
    throw cannotRun((error as Error).message);
  }
};

/** Runs it to its end. @throws ExitError if it does not run on this system. */
export const runWorkerd = async (args: string[], program = workerd()): Promise<{ code: number; output: string }> => {
  const { signal, ...ended } = await runCommand(program, args, { isQuiet: true }).catch(({ message }: Error) => {
    throw cannotRun(message);
  });
  const why = misfitOf(ended.code, signal);
  if (why !== null) throw cannotRun(why);
  return ended;
};

/** What a program that ended like this lacks on this system; null if it ran. */
export const misfitOf = (code: number, signal: NodeJS.Signals | null): string | null => {
  if (signal === "SIGILL") return "the processor lacks an instruction (SIGILL)";
  return LIBRARY_FAILURES.includes(code) ? `it needs the latest Visual C++ runtime of Microsoft (${LIBRARIES})` : null;
};

/** The variables of our environment that workerd itself may need: where certificates are. */
const SYSTEM_VARIABLES = ["SSL_CERT_FILE", "SSL_CERT_DIR", "TZ"];

/** Its working directory is the data folder, so that its process can be identified. */
export const startWorkerd = (
  config: string,
  environment: Record<string, string>,
  inspectorPort?: number,
): Supervised => {
  const system = SYSTEM_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const env = { ...Object.fromEntries(system), ...environment };
  const inspector = inspectorPort === undefined ? [] : [`-i127.0.0.1:${inspectorPort}`];
  const args = ["serve", "--experimental", ...inspector, config];
  return supervise("workerd", [workerd(), args], { env, cwd: path.dirname(config) });
};
