import type { OpenApiDocument } from "../../validation/openapi/document.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { LocalAccounts } from "./accounts.ts";
import { answerAwsClient, assertNoPage, AWS_PATH } from "./aws/aws_sink.ts";
import type { Cleanup } from "./cleanup.ts";
import type { DevServerOptions } from "./dev_server_options.ts";
import { type Gateway, type LocalHandler, readBody } from "./http/http_server.ts";
import type { Invoker } from "./functions/invoker.ts";
import { createMailbox, MAIL_PATH } from "./mailbox.ts";
import { createMessageBus } from "./message_bus.ts";
import type { MigrationWatch } from "./local_migrations.ts";
import type { LocalProject } from "./open_project.ts";
import { createPageApi } from "./page_api.ts";
import type { PendingWork } from "./pending_work.ts";
import { adoptOrigin } from "./reference.ts";
import { createRouteHandler, toGatewayFailure } from "./route_handler.ts";
import { type BucketStore, openBucketStore } from "./aws/bucket_store.ts";
import { createS3Target, S3_PATH } from "./aws/s3_target.ts";
import { CONNECTIONS_PATH, createSocketGateway } from "./socket_gateway.ts";
import { rmSync } from "node:fs";
import { join } from "node:path";

/** The parts that the endpoints use. */
export interface LocalServices {
  readonly options: DevServerOptions;
  readonly project: LocalProject;
  readonly server: Gateway;
  readonly invoker: Invoker;
  readonly pending: PendingWork;
  readonly migrations: MigrationWatch;
  /** The folder of local data. */
  readonly dataDir: string;
  /** Gets the steps that close the endpoints. */
  readonly cleanup: Cleanup;
}

/**
 * Creates the endpoints of the local server: the stand-ins for AWS and for a mail service, the local
 * page, and the functions.
 *
 * @returns Handles a request of any path.
 */
export function createLocalEndpoints(services: LocalServices): LocalHandler {
  const { options, project, server, invoker, pending, migrations, cleanup } = services;
  const { environment, recorder, store, database } = project;
  const { functions: wiring, websocket: settings } = options.config.infra;
  const { track } = pending;

  const bus = createMessageBus({ store, invoker, recorder, wiring, track });
  const mailbox = createMailbox(recorder);
  const sockets = createSocketGateway({ store, invoker, settings, wiring, track });
  cleanup.add(() => sockets.close());
  server.onUpgrade((...handshake) => sockets.accept(...handshake));
  const answerS3 = createS3Target(openBuckets(services), bus.take);
  const answerRoute = createRouteHandler({
    environment,
    store,
    recorder,
    invoker,
    pending,
    hasHeadRoutes: options.config.infra.api.headRoutes,
    ready: migrations.ready,
  });
  // a session for any user may be created in a local database only
  const accounts = database.config === undefined ? undefined : new LocalAccounts(store);
  const page = createPageApi({
    project: project.name,
    root: options.root,
    url: server.url,
    database,
    recorder,
    store,
    invoker,
    sent: bus.sent,
    mails: mailbox.mails,
    accounts,
    migrations,
    secrets: () => environment.generated(),
    document: () => buildLocalDocument(options.root, store.list(), options.config),
    toFailure: (error) => toGatewayFailure({ headers: {} }, error),
    track,
  });
  cleanup.add(() => page.close());

  return async function answer(request, response, url): Promise<void> {
    const path = url.pathname;
    if (path === AWS_PATH || path.startsWith(`${AWS_PATH}/`)) {
      assertNoPage(request);
      return answerAwsClient(request, response, await readBody(request), server.url, bus.take);
    }
    if (path.startsWith(`${CONNECTIONS_PATH}/`)) {
      return await sockets.answer(request, response, url);
    }
    if (path.startsWith(`${S3_PATH}/`)) return await answerS3(request, response, url);
    if (path === MAIL_PATH && request.method === "POST") {
      assertNoPage(request);
      mailbox.take((await readBody(request)).toString("utf8"));
      response.writeHead(202).end();
      return;
    }
    if (await page.answer(request, response, url)) return;
    if (accounts !== undefined) await adoptOrigin(request, () => accounts.findOrigin());
    await answerRoute(request, response, url);
  };
}

function openBuckets({ options, dataDir }: LocalServices): BucketStore {
  const folder = join(dataDir, "buckets");
  if (options.reset) rmSync(folder, { recursive: true, force: true });
  return openBucketStore(folder);
}

/**
 * Builds the document that `trellis generate openapi` would write. Reads the sources and loads no
 * function but the configuration of better-auth.
 */
async function buildLocalDocument(
  root: string,
  functions: readonly FunctionFile[],
  config: ResolvedConfig,
): Promise<OpenApiDocument> {
  const { buildProjectDocument } = await import("../openapi/project_document.ts");
  return (await buildProjectDocument(root, functions, config)).document;
}
