// What one database has of one tenant's history.

/** Each of its statements is of the tenant, which is bound first, as `?1`. */
export class TenantHistory {
  readonly db: D1Database;
  readonly tenant: string;

  constructor(db: D1Database, tenant: string) {
    this.db = db;
    this.tenant = tenant;
  }

  statement(sql: string, ...values: readonly unknown[]): D1PreparedStatement {
    return this.db.prepare(sql).bind(this.tenant, ...values);
  }
}
