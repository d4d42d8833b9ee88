// What a tenant may store: the operator's `SERVICE_TENANT_MAX_GB`, in GB of 10⁹ bytes.

export const DEFAULT_MAX_GB = 20;

export const isMaxGb = (text: string): boolean => /^\d{1,9}(\.\d{1,9})?$/.test(text);
