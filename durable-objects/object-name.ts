// Finds one object from another: a tenant's relays are in the tenant's jurisdiction.

import { isShelved } from "../domain/file/file.ts";
import { isEdgeInstance } from "../domain/fleet/worker.ts";
import { fnv1a } from "../domain/words/fnv.ts";

export type Jurisdiction = "eu" | "fedramp";

/** A binding, whatever class its objects have. */
interface Namespace {
  jurisdiction(jurisdiction: Jurisdiction): Namespace;
  getByName(name: string): unknown;
}

/**
 * The object as its caller calls it: the types of the platform's stubs wrap every answer a second time. `jurisdiction`:
 * null when self-hosted, where there are none.
 */
export const objectNamed = <Called>(namespace: Namespace, name: string, jurisdiction: Jurisdiction | null): Called => {
  const found = jurisdiction === null ? namespace : namespace.jurisdiction(jurisdiction);
  return found.getByName(name) as Called;
};

/** How a deployment lays out its relays. */
export interface RelayLayout {
  /** `1`: all workers of a tenant share a relay. On a server an object takes three files and 300 KB for each. */
  readonly SHARED_RELAYS?: string;
}

/** The name of a worker's relay. A hosted provider's is the runner that calls it. */
export const relayName = ({ SHARED_RELAYS }: RelayLayout, tenant: string, instance: string): string =>
  SHARED_RELAYS === "1" && !isEdgeInstance(instance) ? `${tenant}/streams` : `${tenant}/${instance}`;

/** How many objects of a tenant hold large bodies: each is a file for ever, so their number does not grow. */
export const BODY_SLOTS = 16;

/** The name of the object that holds a job's large body. */
export const bodyName = (tenant: string, jobId: string): string => `${tenant}/body/${slotOf(jobId, BODY_SLOTS)}`;

const slotOf = (id: string, slots: number): number => (fnv1a(id) >>> 16) % slots;

/** The tenant of an object. Without its name, its history would be written under nobody's. */
export const tenantOf = ({ name }: Pick<DurableObjectId, "name">): string => {
  if (name === undefined || name === "") throw new Error("the platform gave this tenant's object no name");
  return name;
};

/** How many objects of a tenant hold its small files, for the same reason. */
export const SHELVES = 16;

/** The name of the object with a file's bytes. */
export const fileName = (tenant: string, id: string): string =>
  isShelved(id) ? `${tenant}/shelf/${slotOf(id, SHELVES)}` : linesName(tenant, id);

/** The name of the object with what batches make of a file's lines: the file's own, wherever its bytes are. */
export const linesName = (tenant: string, fileId: string): string => `${tenant}/file/${fileId}`;
