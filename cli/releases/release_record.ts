import type { S3Client } from "@aws-sdk/client-s3";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { limitRequest, type RequestLimit } from "../../env/limit_request.ts";
import type { ResolvedStage } from "../stages/stage_settings.ts";
import { parseManifest, type ReleaseManifest } from "./release_manifest.ts";

/** The releases of a stage. */
export interface StageReleases {
  /** Those that may be running, the oldest first: several until a deployment has come to its end. */
  readonly running: readonly ReleaseManifest[];
  /** The release that a rollback brings back; `null` if there is none. */
  readonly previous: ReleaseManifest | null;
}

/** Record of the releases of a stage. */
export interface ReleaseRecord {
  /** Reads the releases; nothing is running if none was recorded. */
  read(): Promise<StageReleases>;
  /** Replaces the releases. Leaves out repeated ones. */
  write(releases: StageReleases): Promise<void>;
  /** Removes the record of a stage that is destroyed. */
  remove(): Promise<void>;
}

const LIMIT: RequestLimit = { service: "Amazon S3", limitMs: 30_000 };

/**
 * Opens the record of a stage: an object beside the state in its bucket, or a file beside Terraform's
 * on this machine.
 *
 * @param state The bucket of the state; `undefined` for a state on this machine.
 * @param folder Absolute path of the generated Terraform.
 * @param stage The stage.
 */
export function openReleaseRecord(
  state: { readonly bucket: string; readonly region: string } | undefined,
  folder: string,
  { name, backend }: Pick<ResolvedStage, "name" | "backend">,
): ReleaseRecord {
  if (state === undefined) {
    return toRecord(openFile(join(folder, ".terraform", "stages", `${name}.releases.json`)));
  }
  return toRecord(openObject(state.region, state.bucket, `${backend.key}.releases.json`));
}

interface TextStore {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
  remove(): Promise<void>;
}

function toRecord(store: TextStore): ReleaseRecord {
  return {
    async read(): Promise<StageReleases> {
      const text = await store.read();
      if (text === undefined) return { running: [], previous: null };
      const { running, previous } = JSON.parse(text) as StageReleases;
      const parse = (release: ReleaseManifest) =>
        parseManifest(JSON.stringify(release), "the record of the stage");
      return { running: running.map(parse), previous: previous && parse(previous) };
    },
    async write({ running, previous }): Promise<void> {
      const texts = [...new Set(running.map((release) => JSON.stringify(release)))];
      await store.write(`{"running":[${texts}],"previous":${JSON.stringify(previous)}}`);
    },
    remove: () => store.remove(),
  };
}

function openFile(file: string): TextStore {
  return {
    read: () => Promise.resolve(existsSync(file) ? readFileSync(file, "utf8") : undefined),
    write(text): Promise<void> {
      mkdirSync(dirname(file), { recursive: true });
      // whole, also if the process is killed
      writeFileSync(`${file}.draft`, text);
      renameSync(`${file}.draft`, file);
      return Promise.resolve();
    },
    remove: () => Promise.resolve(rmSync(file, { force: true })),
  };
}

function openObject(region: string, bucket: string, key: string): TextStore {
  const place = { Bucket: bucket, Key: key };
  let client: S3Client | undefined;
  // without the package nothing is recorded; the lock of the stage warns about it
  const load = () => import("@aws-sdk/client-s3").catch(() => undefined);
  return {
    async read(): Promise<string | undefined> {
      const library = await load();
      if (library === undefined) return undefined;
      const s3 = client ??= new library.S3Client({ region });
      try {
        return await limitRequest(LIMIT, async (abortSignal) => {
          const command = new library.GetObjectCommand(place);
          const { Body } = await s3.send(command, { abortSignal });
          return await Body!.transformToString();
        });
      } catch (error) {
        if ((error as Error).name === "NoSuchKey") return undefined;
        throw error;
      }
    },
    async write(text): Promise<void> {
      const library = await load();
      if (library === undefined) return;
      const s3 = client ??= new library.S3Client({ region });
      const command = new library.PutObjectCommand({ ...place, Body: text });
      await limitRequest(LIMIT, (abortSignal) => s3.send(command, { abortSignal }));
    },
    async remove(): Promise<void> {
      const library = await load();
      if (library === undefined) return;
      const s3 = client ??= new library.S3Client({ region });
      const command = new library.DeleteObjectCommand(place);
      await limitRequest(LIMIT, (abortSignal) => s3.send(command, { abortSignal }));
    },
  };
}
