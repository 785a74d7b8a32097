import type { Budget } from '../src/budget/budget.ts';
import type { Client } from '../src/source/client.ts';
import type { RequestContext } from '../src/source/requests/request.ts';

/** Counts how many requests of other lanes are granted before a waiting live request, over several clients on one key. */
export interface Wishes {
  /** Stands between a client and its ledger. */
  wrapBudget(ledger: Budget): Budget;
  /** Each live request made through this client is a wish. */
  wrapClient(client: Client): Client;
  /** A tick of the schedule: a wish that the next live request fulfils. */
  tick(): void;
  /** For each wish, requests of other lanes granted before its own grant. */
  passed(): { readonly requests: readonly number[]; readonly ticks: readonly number[] };
  /** Requests in flight. */
  readonly underWay: ReadonlySet<string>;
}

interface Wish {
  /** The newest grant of any client when the wish was made. */
  readonly after: number;
  grant: number | undefined;
}

export function createWishes(): Wishes {
  let newest = 0;
  /** By purpose: the ledger receives the purpose with the grant that served the wish. */
  const wishes = new Map<string, Wish>();
  const ticks: number[] = [];
  const others: number[] = [];
  const underWay = new Set<string>();

  const wished = (context: RequestContext): RequestContext => {
    if (context.lane !== 'live') return context;
    const purpose = `${context.purpose} #${wishes.size}`;
    wishes.set(purpose, { after: newest, grant: undefined });
    return { ...context, purpose };
  };
  const othersBetween = (after: number, before: number) => others.filter(id => id > after && id < before).length;

  return {
    underWay,
    wrapBudget: ledger => ({
      async take(lane, want) {
        const taken = await ledger.take(lane, want);
        for (const { id } of taken.grants) {
          newest = Math.max(newest, Number(id));
          underWay.add(id);
        }
        return taken;
      },
      async settle(grant, settlement) {
        const wish = wishes.get(settlement.purpose);
        if (!wish) others.push(Number(grant.id));
        else wish.grant ??= Number(grant.id);
        await ledger.settle(grant, settlement).finally(() => underWay.delete(grant.id));
      },
      flush: () => ledger.flush(),
      async release(grants) {
        for (const { id } of grants) underWay.delete(id);
        await ledger.release(grants);
      },
    }),
    wrapClient: client => ({
      list: (path, query, ask, context) => client.list(path, query, ask, wished(context)),
      get: (path, context, query) => client.get(path, wished(context), query),
      request: (request, context) => client.request(request, wished(context)),
      close: () => client.close(),
      hide: text => client.hide(text),
    }),
    tick() {
      ticks.push(newest);
    },
    passed() {
      const served = [...wishes.values()].filter((wish): wish is Wish & { grant: number } => wish.grant !== undefined);
      const live = served.map(wish => wish.grant).sort((a, b) => a - b);
      const first = ticks.map(after => [after, live.find(id => id > after)] as const);
      return {
        requests: served.map(({ after, grant }) => othersBetween(after, grant)),
        ticks: first.flatMap(([after, grant]) => {
          return grant === undefined ? [] : [othersBetween(after, grant)];
        }),
      };
    },
  };
}
