// Messages from a tenant to the objects of its files, after a commit. Nothing waits for them: an object that misses one
// deletes its bytes by its own alarm.

import { fileName, type Jurisdiction, objectNamed } from "../object-name.ts";
import type { StoredFile } from "./stored-file.ts";

export class FileObjects {
  readonly #namespace: DurableObjectNamespace<StoredFile>;
  readonly #tenant: string;
  readonly #jurisdiction: () => Jurisdiction | null;

  constructor(namespace: DurableObjectNamespace<StoredFile>, tenant: string, jurisdiction: () => Jurisdiction | null) {
    this.#namespace = namespace;
    this.#tenant = tenant;
    this.#jurisdiction = jurisdiction;
  }

  async drop(ids: readonly string[]): Promise<void> {
    const dropped = ids.map((id) =>
      objectNamed(this.#namespace, fileName(this.#tenant, id), this.#jurisdiction()).drop(),
    );
    await Promise.allSettled(dropped);
  }
}
