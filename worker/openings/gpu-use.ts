// How busy the machine's GPUs are, as their vendor's tool says: the busiest counts.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const TOOL_TIMEOUT_MS = 5_000;

type Tool = { command: string; args: readonly string[]; read: (said: string) => number[] };

/** A card a line, its use in the last column: also where a wrapper of the tool prints more columns than it was asked for. */
export const readNvidia = (said: string): number[] =>
  [...said.matchAll(/(?:^|,)\s*(\d+(?:\.\d+)?)(?:\s*%)?\s*$/gm)].map(([, percent]) => Number(percent));

/** One `"GPU use (%)": "7"` a card. */
export const readRocm = (said: string): number[] =>
  [...said.matchAll(/"GPU use \(%\)":\s*"?(\d+(?:\.\d+)?)/g)].map(([, percent]) => Number(percent));

const TOOLS: readonly Tool[] = [
  {
    command: "nvidia-smi",
    args: ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"],
    read: readNvidia,
  },
  { command: "rocm-smi", args: ["--showuse", "--json"], read: readRocm },
];

/** In percent; null if no tool tells it. */
export const gpuUsePercent = async (): Promise<number | null> => {
  for (const { command, args, read } of TOOLS) {
    const said = await run(command, [...args], { timeout: TOOL_TIMEOUT_MS }).catch(() => null);
    const percents = said === null ? [] : read(said.stdout);
    if (percents.length > 0) return Math.max(...percents);
  }
  return null;
};
