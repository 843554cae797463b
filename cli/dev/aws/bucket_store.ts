import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A file in a local bucket. */
export interface StoredObject {
  readonly bytes: Buffer;
  readonly contentType: string;
  /** User-defined metadata, without `x-amz-meta-`. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly eTag: string;
  /** ISO 8601. */
  readonly modifiedAt: string;
}

/** A file that is to be written. */
export type NewObject = Pick<StoredObject, "bytes" | "contentType" | "metadata">;

/** Files of local buckets in a folder. */
export interface BucketStore {
  /** Returns a file; `undefined` if there is none. */
  get(bucket: string, key: string): StoredObject | undefined;
  /** Writes a file and returns it. */
  put(bucket: string, key: string, file: NewObject): StoredObject;
  /** Deletes a file, if there is one. */
  delete(bucket: string, key: string): void;
}

/** Opens the local buckets. A bucket exists as soon as a file is written to it. */
export function openBucketStore(dir: string): BucketStore {
  // keys may be longer than file names, and contain anything
  function getPath(bucket: string, key: string): string {
    return join(dir, bucket, createHash("sha256").update(key).digest("hex"));
  }

  return {
    get(bucket, key): StoredObject | undefined {
      const path = getPath(bucket, key);
      try {
        const facts = JSON.parse(readFileSync(`${path}.json`, "utf8"));
        return { ...facts, bytes: readFileSync(path) };
      } catch (error) {
        if ((error as { code?: string }).code === "ENOENT") return undefined;
        throw error;
      }
    },

    put(bucket, key, { bytes, contentType, metadata }): StoredObject {
      const eTag = createHash("md5").update(bytes).digest("hex");
      const facts = { key, contentType, metadata, eTag, modifiedAt: new Date().toISOString() };
      mkdirSync(join(dir, bucket), { recursive: true });
      const path = getPath(bucket, key);
      writeFileSync(path, bytes);
      writeFileSync(`${path}.json`, JSON.stringify(facts));
      return { ...facts, bytes };
    },

    delete(bucket, key): void {
      const path = getPath(bucket, key);
      rmSync(`${path}.json`, { force: true });
      rmSync(path, { force: true });
    },
  };
}
