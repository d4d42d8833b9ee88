// `npm run fixture -- 0.1.0`: stores what a server of this checkout writes as that release's fixture. `--replace`
// records it again, for a release that has not shipped yet.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { VERSION } from "../../contract/words/version.ts";
import { archiveOf, isStored, pack } from "./fixture.ts";
import { record } from "./record.ts";

const USAGE = "npm run fixture -- <version> [--replace]";

const stop = (message: string): never => {
  console.error(message);
  process.exit(2);
};

const { values, positionals } = parseArgs({
  options: { replace: { type: "boolean", default: false } },
  allowPositionals: true,
});
const version = positionals[0] ?? stop(USAGE);
if (version !== VERSION)
  stop(`This checkout is ${VERSION}: a fixture of ${version} is made in a checkout of ${version}.`);
if (isStored(version) && !values.replace) {
  stop(`There is a fixture of ${version}. If that release has shipped, leave it alone; else add --replace.`);
}

const dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-fixture-"));
try {
  pack(dataDir, await record(dataDir));
  console.log(`Stored ${path.relative(process.cwd(), archiveOf(version))}: commit it with the release.`);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
