// The machine's processors and memory: `nvidia-smi` or `rocm-smi` where there is one, and what Node knows.

import { execFile } from "node:child_process";
import { freemem, totalmem } from "node:os";
import { promisify } from "node:util";
import type { MachineResource } from "../../contract/fleet/machine.ts";
import { objectOf, parseJson } from "../../contract/text/json-object.ts";

const run = promisify(execFile);
const TOOL_TIMEOUT_MS = 5_000;
const BYTES_A_MB = 2 ** 20;

type Hardware = NonNullable<MachineResource["hardware"]>;
type Gpu = Hardware["gpus"][number];
type Tool = { command: string; args: readonly string[]; read: (said: string) => Gpu[] };

export const megabytes = (bytes: number): number => Math.round(bytes / BYTES_A_MB);

/** `NVIDIA GeForce RTX 4090, 24564, 1203, 7`: a card a line. */
export const readNvidia = (said: string): Gpu[] =>
  said.split("\n").flatMap((line) => {
    const [name = "", total, used, utilization] = line.split(",").map((cell) => cell.trim());
    const [total_mb, used_mb, percent] = [total, used, utilization].map(Number);
    if (name === "" || !isFigure(total_mb) || !isFigure(used_mb)) return [];
    return [{ name: name.slice(0, 128), total_mb, used_mb, ...(isPercent(percent) ? { utilization: percent } : {}) }];
  });

/** A member for each card, whose figures are texts. */
export const readRocm = (said: string): Gpu[] =>
  Object.entries(objectOf(parseJson(said))).flatMap(([card, told]) => {
    const facts = objectOf(told);
    const figure = (name: string): number => Number(facts[name] ?? Number.NaN);
    const [total, used] = [figure("VRAM Total Memory (B)"), figure("VRAM Total Used Memory (B)")];
    const percent = figure("GPU use (%)");
    if (!isFigure(total) || !isFigure(used)) return [];
    const name = String(facts["Card Series"] ?? facts["Card series"] ?? card).slice(0, 128);
    const busy = isPercent(percent) ? { utilization: percent } : {};
    return [{ name, total_mb: megabytes(total), used_mb: megabytes(used), ...busy }];
  });

const isPercent = (value: number | undefined): value is number => isFigure(value) && value >= 0 && value <= 100;

const isFigure = (value: number | undefined): value is number => value !== undefined && Number.isFinite(value);

const TOOLS: readonly Tool[] = [
  {
    command: "nvidia-smi",
    args: ["--query-gpu=name,memory.total,memory.used,utilization.gpu", "--format=csv,noheader,nounits"],
    read: readNvidia,
  },
  {
    command: "rocm-smi",
    args: ["--showproductname", "--showmeminfo", "vram", "--showuse", "--json"],
    read: readRocm,
  },
];

/** Undefined: it is not on this machine. Null: it failed, as with a driver that is being replaced. */
const runTool = (command: string, args: readonly string[]): Promise<string | null | undefined> =>
  run(command, [...args], { timeout: TOOL_TIMEOUT_MS }).then(
    ({ stdout }) => stdout,
    ({ code }: NodeJS.ErrnoException) => (code === "ENOENT" ? undefined : null),
  );

/** Asks the tools that are there; a tool that is missing is not looked for again. */
export const hardwareReader = (): (() => Promise<Hardware>) => {
  let present = TOOLS;
  return async () => {
    const said = await Promise.all(present.map(({ command, args }) => runTool(command, args)));
    const gpus = present.flatMap(({ read }, index) => read(said[index] ?? ""));
    present = present.filter((_, index) => said[index] !== undefined);
    return { gpus, ram_mb: megabytes(totalmem()), ram_free_mb: megabytes(freemem()) };
  };
};
