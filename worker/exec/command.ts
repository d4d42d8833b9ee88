// The command of `--exec`: found once, with its own files as whole paths, because it runs in a folder of its own.

import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";

export type Command = {
  /** As the operator wrote it. */
  text: string;
  words: readonly string[];
  /** Given to a shell as one text. */
  isShell: boolean;
};

/** A word that looks like a file's name, not like a setting of the command. */
const FILE_NAME = /^[^-].*[./]|^\.+\//;

/**
 * `python3 transcribe.py` means the file beside the worker: a word that names a file there becomes its whole path.
 */
export const wholePaths = (words: readonly string[], folder: string): string[] =>
  words.map((word, at) => {
    const isMeant = at === 0 ? /[/\\]/.test(word) : FILE_NAME.test(word);
    const place = path.resolve(folder, word);
    return isMeant && isFile(place) ? place : word;
  });

/** Never throws: a word may be no name at all, such as a program for `-e`. */
const isFile = (place: string): boolean => {
  try {
    return statSync(place).isFile();
  } catch {
    return false;
  }
};

/** Windows starts no other file: those of npm's commands are scripts. */
const PROGRAM = /\.(exe|com)$/i;

/** Why the command cannot run; null if it can. A shell says for itself what it does not find. */
export const missing = (
  { words, isShell }: Command,
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): string | null => {
  if (isShell) return null;
  const name = words[0] ?? "";
  const isPath = /[/\\]/.test(name);
  const endings = platform === "win32" ? ["", ...(env.PATHEXT ?? ".COM;.EXE;.BAT;.CMD").split(";")] : [""];
  const found = (isPath ? [name] : searched(name, env))
    .flatMap((place) => endings.map((ending) => place + ending))
    .filter(isExecutable);
  if (found.some((place) => platform !== "win32" || PROGRAM.test(place))) return null;
  if (found[0] !== undefined) return `the command ${name} is a script, ${found[0]}: add --exec-shell`;
  if (isPath && isFile(name)) return `the command ${name} is a file that may not be executed: chmod +x ${name}`;
  return `the command ${name} is not there${isPath ? "" : ": no folder of PATH has it"}`;
};

const searched = (name: string, env: Readonly<Record<string, string | undefined>>): string[] =>
  (env.PATH ?? env.Path ?? "")
    .split(path.delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => path.join(folder, name));

const isExecutable = (place: string): boolean => {
  try {
    accessSync(place, constants.X_OK);
    return isFile(place);
  } catch {
    return false;
  }
};
