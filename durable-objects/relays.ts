// What a tenant tells its relays, once it is stored: streams that are over whatever their workers do, keys that have
// ended, bodies that nobody needs any more. Nothing waits for them; a relay that does not hear asks by itself.

import { bodyName, type Jurisdiction, objectNamed, relayName } from "./object-name.ts";
import type { StreamCut } from "./operations/turn.ts";
import type { Relay } from "./relay.ts";

type RelayCalls = Pick<Relay, "cut" | "endKey" | "dropBody">;

export class Relays {
  readonly #namespace: DurableObjectNamespace<Relay>;
  readonly #tenant: string;
  readonly #jurisdiction: () => Jurisdiction | null;

  constructor(namespace: DurableObjectNamespace<Relay>, tenant: string, jurisdiction: () => Jurisdiction | null) {
    this.#namespace = namespace;
    this.#tenant = tenant;
    this.#jurisdiction = jurisdiction;
  }

  #stub(name: string): RelayCalls {
    return objectNamed(this.#namespace, name, this.#jurisdiction()) as unknown as RelayCalls;
  }

  async cut(cuts: readonly StreamCut[]): Promise<void> {
    const byInstance = Map.groupBy(cuts, ({ instance }) => instance);
    await Promise.allSettled(
      [...byInstance].map(([instance, ofOne]) => this.#stub(relayName(this.#tenant, instance)).cut(ofOne)),
    );
  }

  async endKey(instances: readonly string[], keyId: string, liveHashes: readonly string[]): Promise<void> {
    await Promise.allSettled(
      instances.map((instance) => this.#stub(relayName(this.#tenant, instance)).endKey(keyId, liveHashes)),
    );
  }

  async dropBodies(jobIds: readonly string[]): Promise<void> {
    await Promise.allSettled(jobIds.map((id) => this.#stub(bodyName(this.#tenant, id)).dropBody()));
  }
}
