// Messages from a tenant to the objects of its files, after a commit. Nothing waits for those that drop something: an
// object that misses one deletes its bytes by its own alarm.

import type { FileView } from "../../domain/file/file.ts";
import { fileName, type Jurisdiction, objectNamed } from "../object-name.ts";
import type { FilesHome, StoredFile } from "./stored-file.ts";

const ENDED_AT_ONCE = 25;

/** What a batch asks of the object of its file. */
export type BatchFile = Pick<StoredFile, "learnBatch" | "takeLines" | "recordLines" | "closeBatch">;

/** What a tenant's batches need of its files. */
export interface BatchFiles {
  readonly home: FilesHome;
  readonly of: (id: string) => BatchFile;
}

export class FileObjects {
  readonly #namespace: DurableObjectNamespace<StoredFile>;
  readonly #tenant: string;
  readonly #jurisdiction: () => Jurisdiction | null;

  constructor(namespace: DurableObjectNamespace<StoredFile>, tenant: string, jurisdiction: () => Jurisdiction | null) {
    this.#namespace = namespace;
    this.#tenant = tenant;
    this.#jurisdiction = jurisdiction;
  }

  get home(): FilesHome {
    return { tenant: this.#tenant, jurisdiction: this.#jurisdiction() };
  }

  /** The object of one file. The stub's own types wrap every answer a second time. */
  of(id: string): BatchFile & Pick<StoredFile, "drop" | "dropView" | "end"> {
    const stub = objectNamed(this.#namespace, fileName(this.#tenant, id), this.#jurisdiction());
    return stub as unknown as StoredFile;
  }

  async drop(ids: readonly string[], views: readonly FileView[]): Promise<void> {
    // One after another where they lie in one object: the last of them ends it.
    for (const { fileId, batch, form } of views)
      await this.of(fileId)
        .dropView(batch, form)
        .catch(() => undefined);
    await Promise.allSettled(ids.map((id) => this.of(id).drop()));
  }

  /** Their tenant ends. Throws if one of them is left. */
  async end(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += ENDED_AT_ONCE)
      await Promise.all(ids.slice(at, at + ENDED_AT_ONCE).map((id) => this.of(id).end()));
  }
}
