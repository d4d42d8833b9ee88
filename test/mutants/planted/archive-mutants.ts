// Defects in what history keeps small: packed texts, the archive's export.

import { type Mutant, mutant } from "./mutant.ts";

const PACKED = ["test/tenant/packed-texts.workers.test.ts"];
const DAMAGE = ["test/tenant/archive-damage.workers.test.ts"];

export const ARCHIVE_MUTANTS: readonly Mutant[] = [
  mutant(
    "what gains nothing is packed",
    "src/history/packed-text.ts",
    "const MAX_SHARE = 0.8;",
    "const MAX_SHARE = 1.8;",
    PACKED,
  ),
  mutant(
    "a text that moves stays packed",
    "src/history/moving.ts",
    '    if (typeof packed === "string") row[name] = await unpack(packed);\n',
    "",
    PACKED,
  ),
  mutant(
    "an export has none of a day's parts",
    "src/history/archive/export.ts",
    "if (part === undefined) controller.close();",
    'if (part === undefined || part.name !== "") controller.close();',
    ["test/tenant/archive.workers.test.ts"],
  ),
  mutant(
    "an export begins although a later part is damaged",
    "src/history/archive/export.ts",
    "at < parts.length",
    "at < 1",
    DAMAGE,
  ),
  mutant(
    "a job of a damaged part is unknown",
    "src/history/archive/read.ts",
    "    if (found === undefined && damaged[0] !== undefined) throw damaged[0];\n",
    "",
    DAMAGE,
  ),
  mutant(
    "a list ends with an empty page",
    "contract/client/listing.ts",
    "if (page.next_cursor === null) return null;",
    "if (itemCount === 0 || page.next_cursor === null) return null;",
    ["test/cli/archive.test.ts"],
  ),
];
