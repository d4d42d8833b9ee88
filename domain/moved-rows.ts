// Rows of a tenant's tables on their way to another deployment.

export interface TableRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

export interface TablePage extends TableRows {
  /** Where the next page begins; null after the last. */
  readonly next: number | null;
}
