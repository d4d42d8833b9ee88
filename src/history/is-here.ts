// Retention and syncs leave a tenant alone whose rows are being copied to another deployment, or have been.

/** The condition that a row's tenant is served here. */
export const IS_HERE = "tenant NOT IN (SELECT tenant FROM tenants WHERE away IS NOT NULL)";
