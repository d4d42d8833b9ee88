// Whether what lies in dist/ is built of the sources that are here: told in a moment by their names, sizes and times, so
// that a start need not read them. What has changed is for the build to find (`stamp.ts`).
// Plain JavaScript, because setup.mjs runs on the machine's own Node.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

const MARK = "dist/built.json";

/** What Python compiles of its sources, beside them. */
const COMPILED = "__pycache__";

function filesAt(place) {
  const found = statSync(place, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found ? [place] : [];
  return readdirSync(place, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(place, entry.name);
    if (entry.isDirectory()) return entry.name === COMPILED ? [] : filesAt(file);
    return entry.isFile() ? [file] : [];
  });
}

/** Every source file in the given places, which are relative to the root. */
export function sourcesIn(root, places) {
  return places.flatMap((place) => filesAt(path.join(root, place))).sort();
}

/** A hash of the files' names, sizes and times. */
export function seenIn(root, places) {
  const hash = createHash("sha256");
  for (const file of sourcesIn(root, places)) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${path.relative(root, file)}\0${size}\0${mtimeMs}\0`);
  }
  return hash.digest("hex");
}

/**
 * Notes that `products` are built of what was `seen` in `inputs` before the build. In a folder that cannot be written
 * nothing is noted, and the next start reads the sources again.
 */
export function markBuilt(root, mark) {
  try {
    writeFileSync(path.join(root, MARK), JSON.stringify(mark));
  } catch (error) {
    if (!isUnwritable(error)) throw error;
  }
}

/** The folder is read-only, or somebody else's. */
export function isUnwritable({ code }) {
  return code === "EROFS" || code === "EACCES" || code === "EPERM";
}

/** A folder without the build's tools, as a container's, has a dist/ built elsewhere, which is used unchanged. */
export function canBuild(root) {
  return existsSync(path.join(root, "node_modules/wrangler"));
}

export function isBuilt(root) {
  const file = path.join(root, MARK);
  if (!existsSync(file)) return false;
  if (!canBuild(root)) return true;
  const { products, inputs, seen } = JSON.parse(readFileSync(file, "utf8"));
  return products.every((product) => existsSync(path.join(root, product))) && seenIn(root, inputs) === seen;
}
