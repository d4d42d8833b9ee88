// How an object is found from beside another one: a tenant's relays live where the tenant does.

export type Jurisdiction = "eu" | "fedramp";

/** `jurisdiction`: null on a machine of one's own, where there is one place. */
export const objectNamed = <T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  name: string,
  jurisdiction: Jurisdiction | null,
): DurableObjectStub<T> => {
  const found = jurisdiction === null ? namespace : namespace.jurisdiction(jurisdiction);
  return found.get(found.idFromName(name));
};

/** The relay of a worker. */
export const relayName = (tenant: string, instance: string): string => `${tenant}/${instance}`;

/** The object that holds a job's body, where that is large. */
export const bodyName = (tenant: string, jobId: string): string => `${tenant}/body/${jobId}`;
