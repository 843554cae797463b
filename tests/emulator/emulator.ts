import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../support/free_port.ts";
import config from "../../deno.json" with { type: "json" };
import { installProviders, OFFLINE } from "../support/terraform_providers.ts";

/** The emulator, a package of PyPI. */
const PACKAGE = "ministack==1.5.33";
/** Installed programs, which all runs share. */
const CACHE = Deno.env.get("TRELLIS_TEST_CACHE") ?? tmpdir();
const HERE = fileURLToPath(new URL(".", import.meta.url));
const REGION = "eu-central-1";

/** Credentials of the administrator who deploys. Functions get those of their roles. */
const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: "AKIATRELLISSUITE0001",
  AWS_SECRET_ACCESS_KEY: "a-secret-of-the-suite-only",
  AWS_REGION: REGION,
};

/** An AWS on this machine that checks IAM policies and signatures. */
export interface Emulator {
  /** Variables with which programs reach it under the names of AWS. */
  readonly env: Readonly<Record<string, string>>;
  /** Folder with the AWS clients. */
  readonly clients: string;
  /** Sends a request to `url` of a deployed API or function, as a browser would. */
  request(url: string, init?: RequestInit): Promise<Response>;
  /** Opens a WebSocket to `url` of a deployed API. */
  connect(url: string): WebSocket;
  /** Asks the emulator itself: for an object, or for the mails that it would send. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Returns what it has logged, with the logs of functions. */
  readLog(): Promise<string>;
  /** Returns the actions that policies did not allow, with their callers. */
  listDenied(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** True if Python can make an environment of its own. */
export async function hasPython(): Promise<boolean> {
  const python = new Deno.Command("python3", {
    args: ["-c", "import ensurepip, venv"],
    stdout: "null",
    stderr: "null",
  });
  return await python.output().then(({ success }) => success, () => false);
}

/**
 * Runs a program to its end.
 *
 * @returns What it printed.
 * @throws {Error} If it failed.
 */
export async function run(program: string, args: readonly string[], cwd?: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], cwd })
    .output();
  const [text, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!success) throw new Error(`${program} ${args.join(" ")} failed:\n${text}\n${errors}`);
  return text;
}

/** Makes a folder of the cache, unless it is there: another run sees it whole or not at all. */
export async function prepare(
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(CACHE, name);
  if (existsSync(folder)) return folder;
  const draft = await Deno.makeTempDir({ dir: CACHE, prefix: `${name}-` });
  await fill(draft);
  await Deno.rename(draft, folder).catch(async (error) => {
    if (!existsSync(folder)) throw error;
    await Deno.remove(draft, { recursive: true });
  });
  return folder;
}

/** Installs packages of PyPI into an environment of their own. Returns its Python. */
export async function installPython(...packages: readonly string[]): Promise<string> {
  const folder = await prepare(`trellis-${packages[0].replace("==", "-")}`, async (draft) => {
    await run("python3", ["-m", "venv", draft]);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages];
    await run(join(draft, "bin/python3"), pip);
  });
  return join(folder, "bin/python3");
}

/** Packages that Lambda's runtime has and the live mode does not need. */
const RUNTIME_PACKAGES = [
  "@aws-sdk/client-apigatewaymanagementapi",
  "@aws-sdk/s3-presigned-post",
  "@aws-sdk/s3-request-presigner",
] as const;

/** Copies the stand-in providers, with the AWS clients that their live mode and functions need. */
async function prepareProviders(): Promise<string> {
  return await prepare("trellis-terraform-and-clients", async (draft) => {
    const source = dirname(dirname(OFFLINE));
    const parts = ["bin", "live", "schema", "src", "package.json"].map((part) =>
      join(source, part)
    );
    await run("cp", ["-R", ...parts, draft]);
    await run("chmod", ["-R", "u+w", draft]);
    const live = join(draft, "live");
    const options = ["--silent", "--no-audit", "--no-fund", "--prefer-offline"];
    await run("npm", ["ci", ...options], live);
    const packages = RUNTIME_PACKAGES.map((name) => config.imports[name].slice("npm:".length));
    await run("npm", ["install", "--no-save", ...options, ...packages], live);
  });
}

/** Makes a certificate for the names of AWS, and the authority that has signed it. */
async function createCertificate(
  folder: string,
): Promise<{ cert: string; key: string; authority: string }> {
  const [cert, key, authority, authorityKey] = [
    "aws.crt",
    "aws.key",
    "authority.crt",
    "authority.key",
  ]
    .map((name) => join(folder, name));
  const names = [
    "*.amazonaws.com",
    ...["", "s3.", "execute-api."].map((service) => `*.${service}${REGION}.amazonaws.com`),
    "localhost",
  ].map((name) => `DNS:${name}`);
  const make = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj".split(" ");
  const ofAuthority = ["/CN=trellis-suite-authority", "-keyout", authorityKey, "-out", authority];
  await run("openssl", [...make, ...ofAuthority]);
  await run("openssl", [
    ...[...make, "/CN=trellis-suite", "-keyout", key, "-out", cert],
    ...["-CA", authority, "-CAkey", authorityKey],
    ...["-addext", "basicConstraints=critical,CA:FALSE"],
    ...["-addext", `subjectAltName=${names.join(",")},IP:127.0.0.1`],
  ]);
  return { cert, key, authority };
}

/** Starts a proxy for programs that are not written in JavaScript. It connects names of AWS to the emulator. */
function startProxy(port: number): Deno.TcpListener {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  async function connect(from: Deno.TcpConn): Promise<void> {
    // a client sends nothing else before the answer
    const request = new TextDecoder().decode(await readSome(from));
    const [, host] = /^CONNECT (\S+):443 /.exec(request) ?? [];
    if (!host?.endsWith(".amazonaws.com")) return from.close();
    const to = await Deno.connect({ hostname: "127.0.0.1", port });
    await from.write(new TextEncoder().encode("HTTP/1.1 200 Connected\r\n\r\n"));
    await Promise.allSettled([
      from.readable.pipeTo(to.writable),
      to.readable.pipeTo(from.writable),
    ]);
  }
  (async () => {
    for await (const from of listener) connect(from).catch(() => {});
  })().catch(() => {});
  return listener;
}

async function readSome(connection: Deno.Conn): Promise<Uint8Array> {
  const buffer = new Uint8Array(4096);
  return buffer.subarray(0, await connection.read(buffer) ?? 0);
}

/** Returns where the emulator answers a URL of an API or a function. */
function toPath(url: string): string {
  const { host, pathname, search } = new URL(url);
  const [id, service] = host.split(".");
  return `/_aws/${service}/${id}${pathname}${search}`;
}

/**
 * Starts the emulator on loopback, with TLS and its checks of policies.
 *
 * @param work An existing folder for its files.
 * @returns The emulator; the caller stops it.
 * @throws {Error} If it could not be installed or does not start.
 */
export async function startEmulator(work: string): Promise<Emulator> {
  const [python, providers] = await Promise.all([installPython(PACKAGE), prepareProviders()]);
  const { cert, key, authority } = await createCertificate(work);
  const log = join(work, "emulator.log");
  // Lambda's runtimes have the AWS clients; functions are unpacked beside them
  const runtime = join(work, "runtime");
  await Deno.mkdir(runtime);
  await Deno.symlink(join(providers, "live/node_modules"), join(runtime, "node_modules"));
  const port = freePort();
  const child = new Deno.Command("setsid", {
    args: ["bash", "-c", `exec "$0" -m ministack >"${log}" 2>&1`, python],
    cwd: work,
    env: {
      ...CREDENTIALS,
      AUTH: "true",
      BIND_HOST: "127.0.0.1",
      GATEWAY_PORT: String(port),
      HOME: work,
      MINISTACK_ACCOUNT_ID: "123456789012",
      MINISTACK_HOST: `${REGION}.amazonaws.com`,
      MINISTACK_REGION: REGION,
      MINISTACK_SSL_CERT: cert,
      MINISTACK_SSL_KEY: key,
      NODE_EXTRA_CA_CERTS: authority,
      // of functions
      NODE_OPTIONS: `--require ${join(HERE, "awslambda.cjs")}`,
      PYTHONPATH: HERE,
      TMPDIR: runtime,
      USE_SSL: "1",
    },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const status = child.status;
  let hasEnded = false;
  status.then(() => hasEnded = true);
  const client = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(authority)] });
  const address = `https://127.0.0.1:${port}`;
  // with the port in its text: functions that run here see no other variables than their own
  const redirect = join(work, "redirect.cjs");
  const text = await Deno.readTextFile(join(HERE, "redirect.cjs"));
  await Deno.writeTextFile(redirect, text.replace("PORT", String(port)));
  const readLog = () => Deno.readTextFile(log);
  const untilReady = async () => {
    for (let attempt = 1;; attempt++) {
      const answer = await fetch(`${address}/_ministack/health`, { client }).catch(() => undefined);
      await answer?.body?.cancel();
      if (answer?.ok) return;
      if (hasEnded || attempt === 300) {
        throw new Error(`the emulator does not start:\n${await readLog()}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const proxy = startProxy(port);
  async function stop(): Promise<void> {
    client.close();
    proxy.close();
    // with the processes of its functions, which are in the group that setsid has made
    if (!hasEnded) await run("kill", ["-KILL", "--", `-${child.pid}`]);
    await status;
  }
  try {
    await untilReady();
    const terraform = await installProviders(
      join(work, "terraform"),
      join(providers, "bin/tf-offline"),
    );
    return {
      env: {
        ...CREDENTIALS,
        NODE_EXTRA_CA_CERTS: authority,
        NODE_NO_WARNINGS: "1",
        NODE_OPTIONS: `--require ${redirect}`,
        // Terraform's own requests, for its state in Amazon S3
        HTTPS_PROXY: `http://127.0.0.1:${proxy.addr.port}`,
        AWS_CA_BUNDLE: authority,
        ...terraform,
        TF_OFFLINE_ENDPOINT: address,
      },
      clients: join(providers, "live"),
      request: (url, init) => fetch(`${address}${toPath(url)}`, { ...init, client }),
      connect: (url) =>
        new WebSocket(
          `${address.replace("https", "wss")}${toPath(url)}`,
          // an option of Deno; the types are those of browsers
          { client } as unknown as string[],
        ),
      ask: (path, init) => fetch(`${address}${path}`, { ...init, client }),
      readLog,
      listDenied: async () => (await readLog()).match(/^denied .*$/gm) ?? [],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
