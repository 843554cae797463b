import { dehydrate, HydrationBoundary, QueryClient } from "@tanstack/react-query";
import { unwrap } from "@trellis/fn/client";
import { createQueries } from "@trellis/fn/client/query";
import { Organizations } from "../organizations";
import { serverApi } from "../server_api";
import { RefreshingSignIn } from "./refreshing_sign_in";
import { ServerForm } from "./server_form";

export default async function Page() {
  const client = await serverApi();
  const me = await client.GET("/me");
  if (me.status === 401) return <RefreshingSignIn />;
  const { email } = await unwrap(Promise.resolve(me));
  const queries = new QueryClient();
  await queries.prefetchQuery(createQueries(client).query("/auth/organization/list"));
  return (
    <>
      <h1>{email}</h1>
      <ServerForm />
      <HydrationBoundary state={dehydrate(queries)}>
        <Organizations />
      </HydrationBoundary>
    </>
  );
}
