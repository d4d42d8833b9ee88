export interface Mark {
  readonly products: readonly string[];
  readonly inputs: readonly string[];
  readonly seen: string;
}
export declare function sourcesIn(root: string, places: readonly string[]): string[];
export declare function seenIn(root: string, places: readonly string[]): string;
export declare function markBuilt(root: string, mark: Mark): void;
export declare function isUnwritable(error: NodeJS.ErrnoException): boolean;
export declare function canBuild(root: string): boolean;
export declare function isBuilt(root: string): boolean;
