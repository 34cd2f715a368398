//! A node's server in the hands of a move.

use std::time::Duration;

use shardid_cluster::{NodeName, Shard};
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::{Query, QueryAs, QueryScalar};
use sqlx::{AssertSqlSafe, Connection, FromRow, Postgres};

use crate::failure::Failure;
use crate::file::{Address, ClusterFile};
use crate::postgres::{
    Holder, WAITED, Waiter, connect, failure, has_hint, is_sqlstate, part_of, sql,
};

/// A connection to a node, with what is needed to make another.
pub(crate) struct MoveSession {
    pub(crate) node: NodeName,
    pub(crate) address: Address,
    pub(crate) connection: PgConnection,
    /// With which options pg_dump understands this server's definitions as this session does.
    pub(super) dump_options: String,
    /// As which role this session is there, which the settings of a database may have be another.
    pub(super) role: String,
    /// How this server's catalogs are asked for a fingerprint, once that is known.
    pub(super) fingerprint: Option<FingerprintQueries>,
    /// As which program it changes anything; none where it works on no move.
    term: Option<Term>,
    /// What is said before a change in its transaction, for that.
    check: Option<String>,
    /// Who it is when it waits for a lock.
    pub(super) waiter: Waiter,
    /// Whom the last batch that waited too long was seen to wait for.
    holder: Option<Holder>,
}

/// A program's hold on a shard: each that begins to work on a move draws a term of its
/// own, and claims the shard on both nodes for it. Whatever it changes there asks in the
/// same transaction whether the claim still stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) shard: Shard,
    pub(crate) number: i64,
}

/// The queries for the fingerprint of a schema by a server's own catalogs, which it has put together.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(super) struct FingerprintQueries {
    /// Gives the fingerprint of a schema, without a publication of ours, as text.
    pub(super) noted: String,
    /// Gives what differs from one.
    pub(super) changed: String,
}

/// How long a statement waits for a lock, unless it is told otherwise: as in `move/session.sql`.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(60);

/// How long a claim waits for what an earlier program has under way.
const CLAIM_MS: u64 = 10_000;

/// What helps where locks could not be had.
pub(super) const AGAIN: &str = "SELECT pg_catalog.pg_terminate_backend(…) there ends a process, ROLLBACK PREPARED '…' a prepared transaction; then run the same command again";

/// How a batch of statements ended that may have to wait for locks.
pub(super) enum Batch {
    Done,
    /// Somebody held a lock for longer than was allowed; nothing was done.
    LockTimeout,
}

/// Who keeps others from reading tables, and what ends the first of them, if anybody does.
async fn lockers(connection: &mut PgConnection) -> Option<(String, String)> {
    let query = sqlx::query_as(sql!("move/prepared.sql", "move/lockers.sql"));
    let found: Vec<(String, String)> = query.fetch_all(connection).await.unwrap_or_default();
    let how = found.first()?.1.clone();
    let holders: Vec<String> = found.into_iter().map(|(holder, _)| holder).collect();
    Some((holders.join("; "), how))
}

impl MoveSession {
    /// Connects to a node of the cluster file.
    pub(crate) async fn connect(file: &ClusterFile, node: &NodeName) -> Result<Self, Failure> {
        Self::connect_at(node, file.address(node)?.clone()).await
    }

    async fn connect_at(node: &NodeName, address: Address) -> Result<Self, Failure> {
        let mut connection = connect(node, &address, "move").await?;
        let pid = sqlx::query_scalar(sql!("move/session_pid.sql")).fetch_one(&mut connection).await;
        let pid = pid.map_err(|error| failure(node, &error))?;
        let mut server = Self {
            node: node.clone(),
            waiter: Waiter { node: node.clone(), address: address.clone(), pid },
            address,
            connection,
            dump_options: String::new(),
            role: String::new(),
            fingerprint: None,
            term: None,
            check: None,
            holder: None,
        };
        let options = sqlx::query_scalar(sql!("session/changed.sql", "session/for_pg_dump.sql"));
        server.dump_options = server.column(options).await?.pop().unwrap_or_default();
        let role = sqlx::query_scalar(sql!("session/role.sql"));
        server.role = server.column(role).await?.pop().unwrap_or_default();
        server.run(sqlx::query(sql!("move/session.sql"))).await?;
        Ok(server)
    }

    /// The same, to work on a shard as a program that has claimed it.
    pub(super) async fn connect_as(
        file: &ClusterFile,
        node: &NodeName,
        term: Option<Term>,
    ) -> Result<Self, Failure> {
        let mut server = Self::connect(file, node).await?;
        if let Some(term) = term {
            server.work_as(term).await?;
        }
        Ok(server)
    }

    /// Makes this session one of the program with a term.
    async fn work_as(&mut self, term: Term) -> Result<(), Failure> {
        let name = sqlx::query(sql!("move/term/name.sql"));
        self.run(name.bind(term.shard.as_sql()).bind(term.number)).await?;
        let check = sqlx::query_scalar(sql!("move/term/check.sql"));
        let check = check.bind(term.shard.as_sql()).bind(term.number);
        self.check = self.column(check).await?.pop();
        self.term = Some(term);
        Ok(())
    }

    /// The program's hold, for another session of it.
    pub(super) fn term(&self) -> Option<Term> {
        self.term
    }

    /// Claims a shard for a term, and ends what earlier programs have under way here.
    /// Returns the highest term that is known here: the claim stands if it is this one.
    pub(super) async fn claim(&mut self, term: Term) -> Result<i64, Failure> {
        let (shard, number) = (term.shard.as_sql(), term.number);
        self.work_as(term).await?;
        let end = sqlx::query(sql!("move/term/end_earlier.sql"));
        self.run(end.bind(shard).bind(number)).await?;
        self.bound(Duration::from_millis(CLAIM_MS)).await?;
        let claim = sqlx::query_scalar(sql!("move/term/claim.sql")).bind(shard).bind(number);
        let known: Result<i64, sqlx::Error> = claim.fetch_one(&mut self.connection).await;
        let known = known.map_err(|error| match () {
            () if is_sqlstate(&error, "42883") => Failure::new(
                "the extension is older than this program, and knows no terms of moves",
            )
            .at(format!("node {}", self.node))
            .hint("`shardid apply` updates it"),
            () if WAITED.iter().any(|code| is_sqlstate(&error, code)) => {
                Failure::new(format!("another program is at work on shard {}", term.shard))
                    .at(format!("node {}", self.node))
                    .hint("wait for it to end: `shardid moves`")
            }
            () => self.failure(&error),
        })?;
        self.bound(Duration::ZERO).await?;
        Ok(known)
    }

    /// Statements, after the check of the term.
    fn checked(&self, statements: &[String]) -> String {
        let all: Vec<&str> = self.check.iter().chain(statements).map(String::as_str).collect();
        all.join(";\n")
    }

    /// Connects to a node to look: the server forbids a change.
    pub(crate) async fn look(file: &ClusterFile, node: &NodeName) -> Result<Self, Failure> {
        let mut server = Self::connect(file, node).await?;
        server.run(sqlx::query(sql!("move/look.sql"))).await?;
        Ok(server)
    }

    /// As [`look`](Self::look), in another database of the server that the node's address leads to.
    pub(super) async fn look_in(
        file: &ClusterFile,
        node: &NodeName,
        database: &str,
    ) -> Result<Self, Failure> {
        let mut server = Self::connect_at(node, file.address(node)?.in_database(database)).await?;
        server.run(sqlx::query(sql!("move/look.sql"))).await?;
        Ok(server)
    }

    /// That a batch has waited too long, with who was seen to hold what it has waited for.
    pub(super) fn name_holder(&mut self, failure: Failure) -> Failure {
        match self.take_holder() {
            Some(holder) => holder.name(failure),
            None => failure,
        }
    }

    /// Who that was.
    pub(super) fn take_holder(&mut self) -> Option<Holder> {
        self.holder.take()
    }

    /// The number of the server process that works for us.
    pub(super) fn pid(&self) -> i32 {
        self.waiter.pid
    }

    fn failure(&self, error: &sqlx::Error) -> Failure {
        failure(&self.node, error)
    }

    /// The failure of a query, which may not have waited for as long as it takes to see who holds what it waits for.
    async fn waited_or(&mut self, error: &sqlx::Error, holder: Option<Holder>) -> Failure {
        if holder.is_some() || !is_sqlstate(error, "55P03") {
            return self.waiter.failure(error, holder);
        }
        let failure = self.failure(error);
        match lockers(&mut self.connection).await {
            Some((holders, how)) => {
                let what = "it waits for a lock that somebody holds";
                Failure::new(format!("{what}: {holders}"))
                    .at(format!("node {}", self.node))
                    .answered()
                    .hint(format!("{how} there ends it; then run the same command again"))
            }
            None => failure,
        }
    }

    /// The failure of a program that waits for locks on tables of this server, with who holds one.
    pub(super) async fn also_waited(&self, failure: Failure) -> Failure {
        let Ok(mut other) = connect(&self.node, &self.address, "move").await else {
            return failure;
        };
        match lockers(&mut other).await {
            Some((holders, how)) => failure
                .detail(format!("on node {} it has waited for a lock: {holders}", self.node))
                .hint(format!("{how} there ends it; then go on")),
            None => failure,
        }
    }

    /// All rows of a query.
    pub(crate) async fn rows<T>(
        &mut self,
        query: QueryAs<'_, Postgres, T, PgArguments>,
    ) -> Result<Vec<T>, Failure>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let (rows, holder) = self.waiter.over(query.fetch_all(&mut self.connection)).await;
        match rows {
            Ok(rows) => Ok(rows),
            Err(error) => Err(self.waited_or(&error, holder).await),
        }
    }

    /// The row of a query that has at most one.
    pub(crate) async fn row<T>(
        &mut self,
        query: QueryAs<'_, Postgres, T, PgArguments>,
    ) -> Result<Option<T>, Failure>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let (row, holder) = self.waiter.over(query.fetch_optional(&mut self.connection)).await;
        match row {
            Ok(row) => Ok(row),
            Err(error) => Err(self.waited_or(&error, holder).await),
        }
    }

    /// The first column of a query's rows.
    pub(crate) async fn column<T>(
        &mut self,
        query: QueryScalar<'_, Postgres, T, PgArguments>,
    ) -> Result<Vec<T>, Failure>
    where
        T: Send + Unpin,
        (T,): for<'r> FromRow<'r, PgRow>,
    {
        let (rows, holder) = self.waiter.over(query.fetch_all(&mut self.connection)).await;
        match rows {
            Ok(rows) => Ok(rows),
            Err(error) => Err(self.waited_or(&error, holder).await),
        }
    }

    /// Runs a query that changes something, together with the check of the term.
    pub(super) async fn change(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<(), Failure> {
        let check = self.check.as_deref();
        let connection = &mut self.connection;
        let work = async {
            let mut transaction = connection.begin().await?;
            if let Some(check) = check {
                let check = sqlx::raw_sql(AssertSqlSafe(check));
                check.execute(&mut *transaction).await?;
            }
            query.execute(&mut *transaction).await?;
            transaction.commit().await
        };
        let (done, holder) = self.waiter.over(work).await;
        done.map_err(|error| self.waiter.failure(&error, holder))
    }

    /// Runs a query, for what it does to this session.
    pub(crate) async fn run(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<(), Failure> {
        let (done, holder) = self.waiter.over(query.execute(&mut self.connection)).await;
        done.map(|_| ()).map_err(|error| self.waiter.failure(&error, holder))
    }

    /// Runs statements that the server itself has put together, each by itself.
    pub(crate) async fn carry_out(&mut self, statements: Vec<String>) -> Result<(), Failure> {
        for statement in statements {
            self.by_itself(&statement)
                .await
                .map_err(|failure| failure.detail(format!("statement: {statement}")))?;
        }
        Ok(())
    }

    /// Runs a block of code within the transaction that is open.
    pub(super) async fn block(&mut self, text: &'static str) -> Result<(), Failure> {
        let work = sqlx::raw_sql(text).execute(&mut self.connection);
        let (done, holder) = self.waiter.over(work).await;
        done.map(|_| ()).map_err(|error| self.waiter.failure(&error, holder))
    }

    /// Checks the term within the transaction that is open.
    pub(super) async fn assure(&mut self) -> Result<(), Failure> {
        let Some(check) = self.check.clone() else { return Ok(()) };
        self.one_statement(&check).await
    }

    /// Runs a statement after the check of the term: one message is one transaction.
    async fn by_itself(&mut self, statement: &String) -> Result<(), Failure> {
        let text = self.checked(std::slice::from_ref(statement));
        self.one_statement(&text).await
    }

    async fn one_statement(&mut self, text: &str) -> Result<(), Failure> {
        let work = sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.connection);
        let (done, holder) = self.waiter.over(work).await;
        done.map(|_| ()).map_err(|error| self.waiter.failure(&error, holder))
    }

    /// Runs statements that the server itself has put together, all or none,
    /// waiting for no lock longer than `lock_ms`.
    pub(super) async fn all_or_none(
        &mut self,
        statements: Vec<String>,
        lock_ms: u64,
    ) -> Result<Batch, Failure> {
        let bounds = vec![format!("SET LOCAL lock_timeout = {lock_ms}")];
        self.batch(bounds, statements).await
    }

    /// The same, where no statement may take longer than `statement_ms`,
    /// however many locks it waits for.
    pub(super) async fn quickly(
        &mut self,
        statements: Vec<String>,
        statement_ms: u64,
    ) -> Result<Batch, Failure> {
        let bounds = vec![format!("SET LOCAL statement_timeout = {statement_ms}")];
        // In one go: writers wait meanwhile.
        self.batch(bounds, vec![statements.join(";\n")]).await
    }

    /// Begins a transaction with statements that the server itself has put
    /// together, and leaves it open unless one of them waits too long.
    pub(super) async fn begin_with(&mut self, statements: Vec<String>) -> Result<Batch, Failure> {
        self.in_open(format!("BEGIN;\n{}", self.checked(&statements))).await
    }

    /// The same within a transaction that is open: where one waits too long, it is rolled back.
    pub(super) async fn go_on_with(&mut self, statements: Vec<String>) -> Result<Batch, Failure> {
        let text = self.checked(&statements);
        self.in_open(text).await
    }

    async fn in_open(&mut self, text: String) -> Result<Batch, Failure> {
        let work = sqlx::raw_sql(AssertSqlSafe(text.as_str())).execute(&mut self.connection);
        let (done, holder) = self.waiter.over(work).await;
        self.holder = holder;
        let Err(error) = done else { return Ok(Batch::Done) };
        let waited = self.give_up(error).await;
        waited.map_err(|failure| failure.detail(format!("statement: {text}")))?;
        Ok(Batch::LockTimeout)
    }

    /// Rolls the open transaction back for an error; no failure where it has waited too long.
    async fn give_up(&mut self, error: sqlx::Error) -> Result<(), Failure> {
        self.run(sqlx::query(sql!("move/rollback.sql"))).await?;
        match WAITED.iter().any(|code| is_sqlstate(&error, code)) {
            true => Ok(()),
            false => Err(self.failure(&error)),
        }
    }

    /// All rows of a query within a transaction that [`begin_with`](Self::begin_with) has
    /// begun; none, with the transaction rolled back, where it waits too long.
    pub(super) async fn rows_at_once<T>(
        &mut self,
        query: QueryAs<'_, Postgres, T, PgArguments>,
    ) -> Result<Option<Vec<T>>, Failure>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        match query.fetch_all(&mut self.connection).await {
            Ok(rows) => Ok(Some(rows)),
            Err(error) => self.give_up(error).await.map(|()| None),
        }
    }

    /// How long each statement of this session waits for a lock from now on.
    pub(super) async fn wait_at_most(&mut self, most: Duration) -> Result<(), Failure> {
        let most = most.as_millis().min(i32::MAX as u128).to_string();
        self.run(sqlx::query(sql!("move/wait.sql")).bind(most)).await
    }

    /// Bounds each statement of this session from now on; zero is no bound.
    pub(super) async fn bound(&mut self, most: Duration) -> Result<(), Failure> {
        let most = most.as_millis().min(i32::MAX as u128).to_string();
        self.run(sqlx::query(sql!("move/bound.sql")).bind(most)).await
    }

    /// Runs statements in one go, within the transaction that is open, if one is.
    pub(super) async fn one_batch(&mut self, statements: Vec<String>) -> Result<Batch, Failure> {
        let text = self.checked(&statements);
        self.step(&text).await
    }

    /// Runs a text within the transaction that is open and that has checked the term.
    pub(super) async fn step(&mut self, text: &str) -> Result<Batch, Failure> {
        let work = sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.connection);
        let (done, holder) = self.waiter.over(work).await;
        self.holder = holder;
        match done {
            Ok(_) => Ok(Batch::Done),
            Err(error) if WAITED.iter().any(|code| is_sqlstate(&error, code)) => {
                Ok(Batch::LockTimeout)
            }
            Err(error) => {
                let failed = self.failure(&error).detail(part_of(text, &error));
                Err(if is_sqlstate(&error, AMBIGUOUS) {
                    failed.detail(
                        "a definition travels as a text, which two of that name fit: give one of them another name where the shard is; then abort, and move it again",
                    )
                } else if is_sqlstate(&error, NO_RIGHT) && !has_hint(&error) {
                    failed.hint_instead(NO_RIGHT_OF_OTHERS)
                } else {
                    failed
                })
            }
        }
    }

    async fn batch(
        &mut self,
        bounds: Vec<String>,
        statements: Vec<String>,
    ) -> Result<Batch, Failure> {
        let node = self.node.clone();
        let failed = |error: sqlx::Error| failure(&node, &error);
        let check = self.check.clone();
        let mut transaction = self.connection.begin().await.map_err(failed)?;
        for statement in bounds.into_iter().chain(check).chain(statements) {
            let work = sqlx::raw_sql(AssertSqlSafe(statement.as_str())).execute(&mut *transaction);
            let (done, holder) = self.waiter.over(work).await;
            self.holder = holder;
            match done {
                Ok(_) => {}
                Err(error) if WAITED.iter().any(|code| is_sqlstate(&error, code)) => {
                    transaction.rollback().await.map_err(failed)?;
                    return Ok(Batch::LockTimeout);
                }
                Err(error) => {
                    let part = part_of(&statement, &error);
                    return Err(failed(error).detail(part));
                }
            }
        }
        transaction.commit().await.map_err(failed)?;
        Ok(Batch::Done)
    }
}

/// `insufficient_privilege`.
const NO_RIGHT: &str = "42501";

/// Why a superuser has no right.
const NO_RIGHT_OF_OTHERS: &str = "while a definition is made, functions that it calls run with the rights of the table's owner, where they are that role's, and with those of PUBLIC otherwise: have one role own the table and the functions; then abort, and move it again";

/// What a server says where two functions fit a call alike.
const AMBIGUOUS: &str = "42725";
