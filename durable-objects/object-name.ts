// Finds one object from another: a tenant's relays are in the tenant's jurisdiction.

export type Jurisdiction = "eu" | "fedramp";

/** `jurisdiction`: null when self-hosted, where there are none. */
export const objectNamed = <T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  name: string,
  jurisdiction: Jurisdiction | null,
): DurableObjectStub<T> => {
  const found = jurisdiction === null ? namespace : namespace.jurisdiction(jurisdiction);
  return found.getByName(name);
};

/** The name of a worker's relay. */
export const relayName = (tenant: string, instance: string): string => `${tenant}/${instance}`;

/** The name of the object that holds a job's large body. */
export const bodyName = (tenant: string, jobId: string): string => `${tenant}/body/${jobId}`;

/** The name of the object with a file's bytes. */
export const fileName = (tenant: string, id: string): string => `${tenant}/file/${id}`;
