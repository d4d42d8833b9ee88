// Every file in a folder and the folders below it, and those that are databases.

import { readdirSync } from "node:fs";
import path from "node:path";

export const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();

export const databasesBelow = (folder: string): string[] =>
  filesBelow(folder).filter((file) => file.endsWith(".sqlite"));
