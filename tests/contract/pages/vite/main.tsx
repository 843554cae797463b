import { QueryClient, QueryClientProvider, useQuery, useQueryClient } from "@tanstack/react-query";
import { ApiError } from "@trellis/fn/client";
import { createRoot } from "react-dom/client";
import { api } from "./api";
import { Organizations } from "./organizations";
import { SignIn } from "./sign_in";

const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });

function App() {
  const client = useQueryClient();
  const { data, error } = useQuery(api.query("/me"));
  if (error instanceof ApiError && error.status === 401) {
    return <SignIn onSignIn={() => client.invalidateQueries()} />;
  }
  return data && (
    <>
      <h1>{data.email}</h1>
      <Organizations />
    </>
  );
}

createRoot(document.getElementById("root")!).render(
  <QueryClientProvider client={queries}>
    <App />
  </QueryClientProvider>,
);
