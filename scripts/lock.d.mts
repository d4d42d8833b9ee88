export declare function withLock<T>(name: string, root: string, work: () => Promise<T>): Promise<T>;
