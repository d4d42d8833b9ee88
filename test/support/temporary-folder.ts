// A folder of a test file's own, removed when it is no longer used. Called before other hooks, so that whatever these
// end is gone before its folder is.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

export interface TemporaryFolder {
  readonly path: string;
}

const temporary = (before: typeof beforeEach, after: typeof afterEach): TemporaryFolder => {
  const folder = { path: "" };
  before(() => {
    folder.path = mkdtempSync(path.join(tmpdir(), "signalbox-"));
  });
  after(() => {
    rmSync(folder.path, { recursive: true, force: true });
  });
  return folder;
};

export const folderForEachTest = (): TemporaryFolder => temporary(beforeEach, afterEach);

export const folderForAllTests = (): TemporaryFolder => temporary(beforeAll, afterAll);
