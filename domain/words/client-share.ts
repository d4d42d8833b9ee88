/**
 * What one client's key, or of requirements that wait all clients' keys together, may have of a tenant's bound: it leaves
 * some to others.
 */
export const CLIENT_SHARE = 0.9;
