// Parts that were recorded, as they lie in the store. A part that is missing or does not unpack is damaged: lists go on
// without it, and name it. A store that does not answer says nothing of its parts.

import { log } from "../../../log/log.ts";
import { digestOf } from "../../http/key-format.ts";
import { Refused } from "../../http/refused.ts";
import { through } from "../through.ts";
import { type ArchivedLine, keyOf, type PartName, unpackPart } from "./part.ts";
import type { ArchiveStore } from "./store.ts";

export class DamagedPart extends Refused {
  /** As `2026-11-01/<name>`. */
  readonly part: string;

  constructor({ day, name }: PartName, cause: unknown) {
    const part = `${day}/${name}`;
    super({ code: "archive_damaged", part });
    this.part = part;
    this.cause = cause;
  }
}

const missing = (key: string): Error => new Error(`the archive has no ${key}`);

/** A part's lines; only those that have `text`. If it is damaged, the readable ones, and it is added to `damaged`. */
export async function* linesOf(
  store: ArchiveStore,
  tenant: string,
  part: PartName,
  damaged: DamagedPart[],
  text = "",
): AsyncGenerator<ArchivedLine> {
  const key = keyOf(tenant, part);
  const bytes = await store.get(key);
  try {
    if (bytes === null) throw missing(key);
    yield* unpackPart(bytes, text);
  } catch (error) {
    damaged.push(new DamagedPart(part, error));
  }
}

interface StoredPart extends PartName {
  readonly sha256: string;
}

/** A part as it is stored, with the digest of that. @throws DamagedPart */
export const readPart = async (
  store: ArchiveStore,
  tenant: string,
  { day, name, sha256 }: StoredPart,
): Promise<StoredPart & { readonly bytes: Uint8Array<ArrayBuffer> }> => {
  const part = { day, name };
  const key = keyOf(tenant, part);
  const bytes = await store.get(key);
  if (bytes === null) throw new DamagedPart(part, missing(key));
  const stored = { ...part, sha256: await digestOf(bytes), bytes };
  if (stored.sha256 === sha256) return stored;
  // Somebody may have compressed it again.
  await through(bytes, new DecompressionStream("gzip")).catch((error) => {
    throw new DamagedPart(part, error);
  });
  return stored;
};

/** One line for an answer, with the first one's cause. */
export const logDamaged = (tenant: string, damaged: readonly DamagedPart[]): void => {
  const [first] = damaged;
  if (first === undefined) return;
  log("error", "archive.damaged", { tenant, what: damaged.map(({ part }) => part).join(", ") }, first.cause);
};
