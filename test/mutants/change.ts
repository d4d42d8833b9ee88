// A change to one source file that a test should notice.

export interface Change {
  readonly file: string;
  /** The character that a test must reach to notice it. */
  readonly at: number;
  readonly what: string;
  /** The whole file with the change. */
  readonly text: string;
}
