// Retention and syncs leave a tenant alone whose rows are being copied to another deployment, or have been.

/** The condition that a tenant is served here; `tenant` is a parameter, or a column with the name of its table. */
export const isHere = (tenant: string): string =>
  `NOT EXISTS (SELECT 1 FROM tenants AS moving WHERE moving.tenant = ${tenant} AND moving.away IS NOT NULL)`;
