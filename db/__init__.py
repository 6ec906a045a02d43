"""The database: tables, engines, migrations, and one store per aggregate. SQLAlchemy lives here alone."""
