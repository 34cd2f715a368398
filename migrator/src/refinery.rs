//! refinery over the drivers that we have: it has none for sqlx.
//!
//! refinery takes no lock and has no dry run: whoever migrates holds a lock.

/// Makes a session that refinery can use of a newtype over a connection.
macro_rules! refinery_session {
    ($session:ident, $connection:ty) => {
        /// A session, as refinery wants it.
        struct $session<'s>(&'s mut $connection);

        impl refinery_core::traits::r#async::AsyncTransaction for $session<'_> {
            type Error = sqlx::Error;

            async fn execute<'a, T: Iterator<Item = &'a str> + Send + 'a>(
                &'a mut self,
                queries: T,
            ) -> Result<usize, sqlx::Error> {
                let mut count = 0;
                for query in queries {
                    // Text of our own migrations, and refinery's statements about them.
                    sqlx::raw_sql(sqlx::AssertSqlSafe(query)).execute(&mut *self.0).await?;
                    count += 1;
                }
                Ok(count)
            }
        }

        impl refinery_core::traits::r#async::AsyncQuery<Vec<refinery_core::Migration>>
            for $session<'_>
        {
            async fn query<'a>(
                &'a mut self,
                query: &'a str,
            ) -> Result<Vec<refinery_core::Migration>, sqlx::Error> {
                let query = sqlx::query_as(sqlx::AssertSqlSafe(query));
                let rows: Vec<$crate::refinery::Applied> = query.fetch_all(&mut *self.0).await?;
                rows.into_iter().map($crate::refinery::Applied::migration).collect()
            }
        }

        impl refinery_core::traits::r#async::AsyncMigrate for $session<'_> {}
    };
}

use refinery_core::Migration;
pub(crate) use refinery_session;
use sqlx::FromRow;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A row of refinery's history.
#[derive(FromRow)]
pub(crate) struct Applied {
    version: i32,
    name: String,
    applied_on: String,
    checksum: String,
}

impl Applied {
    /// The migration that was run.
    pub(crate) fn migration(self) -> Result<Migration, sqlx::Error> {
        let applied = OffsetDateTime::parse(&self.applied_on, &Rfc3339)
            .map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        let checksum =
            self.checksum.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        Ok(Migration::applied(self.version, self.name, applied, checksum))
    }
}
